/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of convolutions. Include it after tests/reference.h. */
#pragma once

#include "model/plan/conv.h"

static struct conv conv_of(uint64_t height, uint64_t width, uint64_t channels, uint64_t filters,
			   const struct window_keys *keys)
{
	static const struct node node = { .name = "c" };
	const struct tensor input = { .name = "x", .rank = 3, .shape = { height, width, channels } };
	struct conv conv = { .node = &node, .channels = channels, .filters = filters };
	struct error err = { 0 };

	harness_must(window_make(&input, keys, &conv.window, &err), &err);
	return conv;
}

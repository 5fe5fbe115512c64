/* SPDX-License-Identifier: Apache-2.0 */
/* Include this header after cmocka.h. */
#pragma once

#include "tests/reference.h"

/* Asserts that the configuration is refused with a message that contains this text. */
static void expect(const struct config *config, const char *text)
{
	struct graph graph;
	struct error err = { 0 };

	assert_int_equal(graph_build(config, true, &graph, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("found \"%s\"\nwanted \"%s\"", err.text, text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Include it behind cmocka.h. */
#pragma once

#include "tests/reference.h"

/* The configuration is refused with a text that has this one in it. */
static void expect(const struct config *config, const char *text)
{
	struct graph graph;
	struct error err = { 0 };

	assert_int_equal(graph_build(config, true, &graph, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("found \"%s\"\nwanted \"%s\"", err.text, text);
}

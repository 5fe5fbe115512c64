/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/color.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_on(void)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return !(none && *none) && terminal && *terminal && strcmp(terminal, "dumb") != 0 &&
	       isatty(STDOUT_FILENO);
}

const char *color_begin(enum color color)
{
	static const char *const begins[COLOR_MAX] = {
		[COLOR_GOOD] = "\033[32m", [COLOR_WARNING] = "\033[33m", [COLOR_BAD] = "\033[31m"
	};

	return color < COLOR_MAX && is_on() ? begins[color] : "";
}

const char *color_end(void)
{
	return is_on() ? "\033[0m" : "";
}

enum color color_of_state(const char *state)
{
	static const struct {
		const char *state;
		enum color color;
	} colors[] = {
		{ "running", COLOR_GOOD },     { "finished", COLOR_GOOD },    { "beginning", COLOR_GOOD },
		{ "paused", COLOR_WARNING },   { "stopping", COLOR_WARNING }, { "stopped", COLOR_WARNING },
		{ "degraded", COLOR_WARNING }, { "expired", COLOR_WARNING },  { "pruned", COLOR_WARNING },
		{ "failed", COLOR_BAD },
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcmp(colors[i].state, state) == 0)
			return colors[i].color;
	return COLOR_MAX;
}

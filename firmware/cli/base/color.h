/* SPDX-License-Identifier: Apache-2.0 */
/* Colours for text on standard output. There are none where standard output is no terminal, where TERM is
 * "dumb" or not set, or where the environment variable NO_COLOR is set and not empty (no-color.org). */
#pragma once

enum color { COLOR_GOOD, COLOR_WARNING, COLOR_BAD, COLOR_MAX };

/* Return the escape sequence that begins or ends a colour, or "" where there are no colours. */
const char *color_begin(enum color color);
const char *color_end(void);
/* Returns the colour of a state of a box or of a run (core/run/run.h, method "status"); COLOR_MAX, which
 * color_begin() takes as no colour, for a state that is neither good nor bad. */
enum color color_of_state(const char *state);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside, as a terminal, a log or a status line may show it.
 *
 * A name that a store, an archive, a file or a box gives can hold bytes that a terminal obeys, such as ESC; a
 * line end, after which the rest of the name looks like a line of Kiln's own; or bytes that are not UTF-8.
 * Each byte of such a character becomes \xNN. All other text stays as it is.
 *
 * Hidden characters: control characters (below U+0020, U+007F .. U+009F), the ends of lines and paragraphs
 * U+2028 and U+2029, the characters that turn the direction of text (U+202A .. U+202E, U+2066 .. U+2069), and
 * what is not UTF-8.
 *
 * error_set(), error_prefix(), log_line(), event_send(), notify_ready() and notify_status() do this to the
 * whole text; json_print() writes \uNNNN instead. Other output of text from outside calls one of these
 * functions. Cost: O(bytes). Nothing allocates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VISIBLE_TIMES 4u /* the visible form of a text is at most this many times as long */

/* Tells whether a character with this code point is hidden. */
bool visible_hides(uint32_t code);
/* Tells whether a text has no hidden character. */
bool visible_is(const char *text);

/* Write the visible form of `text`, cut after a whole character or \xNN where `size` bytes are too few. In
 * visible_lines() line ends and tabs stay, for texts that Kiln makes of several lines. Return `out`. */
const char *visible(const char *text, char *out, size_t size);
const char *visible_lines(const char *text, char *out, size_t size);
/* Prints the visible form of `text`. */
void visible_print(const char *text, FILE *out);

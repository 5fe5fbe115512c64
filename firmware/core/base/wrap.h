/* SPDX-License-Identifier: Apache-2.0 */
/* Text in lines of a certain width. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Prints the words of `text`, and a line end. The first line begins at column `at`, counted from 0; each
 * further line begins with `next`. No line is longer than `width` columns, except for a word that is longer.
 * A byte counts as a column. */
void wrap_print(const char *text, size_t at, const char *next, size_t width, FILE *out);

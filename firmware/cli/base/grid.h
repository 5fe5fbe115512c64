/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of texts, printed with columns of one width or as CSV (RFC 4180).
 *
 * Order: grid_open -> grid_add* -> (grid_print | grid_print_csv) -> grid_done. The cells of the first row are
 * the names of the columns. Owns copies of the texts. Where memory is short a cell is "", or nothing is
 * printed.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct grid {
	char **cell; /* row after row */
	uint32_t columns, cells;
};

/* Makes an empty table; `columns` is at least 1. */
void grid_open(struct grid *grid, uint32_t columns);
void grid_done(struct grid *grid);
/* Adds the next cell of the row, or the first one of the next row. */
void grid_add(struct grid *grid, const char *text);

/* Prints the rows, two spaces between columns. A column whose values are all numbers or "-" is aligned to the
 * right. */
void grid_print(const struct grid *grid, FILE *out);
/* Prints the rows as lines that end with CR LF. A text that a spreadsheet would take for a formula, because
 * it begins with = + - @ and is no number, gets an apostrophe before it. */
void grid_print_csv(const struct grid *grid, FILE *out);

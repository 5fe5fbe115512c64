/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/grid.h"

#include "core/base/cleanup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void grid_open(struct grid *grid, uint32_t columns)
{
	*grid = (struct grid){ .columns = columns };
}

void grid_done(struct grid *grid)
{
	for (uint32_t i = 0; i < grid->cells; i++)
		free(grid->cell[i]);
	free((void *)grid->cell);
	*grid = (struct grid){ 0 };
}

void grid_add(struct grid *grid, const char *text)
{
	char **grown = (char **)reallocarray((void *)grid->cell, grid->cells + 1, sizeof(*grown));

	if (!grown)
		return;
	grid->cell = grown;
	grid->cell[grid->cells++] = strdup(text);
}

static const char *cell_at(const struct grid *grid, uint32_t row, uint32_t column)
{
	const char *text = grid->cell[row * grid->columns + column];

	return text ? text : "";
}

static uint32_t rows_of(const struct grid *grid)
{
	return grid->cells / grid->columns;
}

/* Returns how many columns of a terminal a text takes: its characters of UTF-8. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

/* Tells whether a text begins with a number: "12", "-0.5", "87.50 %", "2.5 MB", but no date. */
static bool is_number(const char *text)
{
	return strspn(text, "-+.0123456789") > 0 && strcmp(text, "-") != 0 && !strchr(text, ':');
}

/* Tells whether a column has numbers, and beside them only "-". */
static bool is_numeric(const struct grid *grid, uint32_t column)
{
	bool any = false;

	for (uint32_t row = 1; row < rows_of(grid); row++) {
		const char *text = cell_at(grid, row, column);

		if (!is_number(text) && strcmp(text, "-") != 0)
			return false;
		any = any || is_number(text);
	}
	return any;
}

static int width_of_column(const struct grid *grid, uint32_t column)
{
	int width = 0;

	for (uint32_t row = 0; row < rows_of(grid); row++)
		if (width_of(cell_at(grid, row, column)) > width)
			width = width_of(cell_at(grid, row, column));
	return width;
}

struct column {
	int width;
	bool numeric;
};

static void print_row(const struct grid *grid, uint32_t row, const struct column *columns, FILE *out)
{
	for (uint32_t i = 0; i < grid->columns; i++) {
		const char *text = cell_at(grid, row, i);
		const int spaces = columns[i].width - width_of(text);
		const bool right = columns[i].numeric, last = i + 1 == grid->columns;

		fprintf(out, "%s%*s%s%*s%s", i ? "  " : "", right ? spaces : 0, "", text,
			right || last ? 0 : spaces, "", last ? "\n" : "");
	}
}

void grid_print(const struct grid *grid, FILE *out)
{
	CLEANUP(free_ptr) struct column *columns = calloc(grid->columns, sizeof(*columns));

	for (uint32_t i = 0; columns && i < grid->columns; i++)
		columns[i] = (struct column){ width_of_column(grid, i), is_numeric(grid, i) };
	for (uint32_t row = 0; columns && row < rows_of(grid); row++)
		print_row(grid, row, columns, out);
}

/* ---- CSV ---- */

static bool is_formula(const char *text)
{
	char *end;

	if (!*text || !strchr("=+-@", *text))
		return false;
	(void)strtod(text, &end);
	return end == text || *end;
}

static void print_quoted(const char *before, const char *text, FILE *out)
{
	fprintf(out, "\"%s", before);
	for (; *text; text++)
		fprintf(out, "%s%c", *text == '"' ? "\"" : "", *text);
	(void)fputc('"', out);
}

void grid_print_csv(const struct grid *grid, FILE *out)
{
	for (uint32_t row = 0; row < rows_of(grid); row++)
		for (uint32_t column = 0; column < grid->columns; column++) {
			const char *text = cell_at(grid, row, column);
			const char *before = is_formula(text) ? "'" : "";

			fputs(column ? "," : "", out);
			if (strpbrk(text, ",\"\r\n"))
				print_quoted(before, text, out);
			else
				fprintf(out, "%s%s", before, text);
			fputs(column + 1 == grid->columns ? "\r\n" : "", out);
		}
}

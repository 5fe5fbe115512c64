/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/curve.h"

#include <math.h>
#include <string.h>

struct canvas {
	char cell[CURVE_ROWS][CURVE_COLUMNS];
	uint32_t columns;
	double least, most;
};

/* Returns the mean of the epochs that share a column; NaN where none of them has a value. */
static double mean_of(const double *value, uint32_t count, uint32_t column, uint32_t columns)
{
	const uint32_t from = (uint32_t)((uint64_t)column * count / columns),
		       to = (uint32_t)(((uint64_t)column + 1) * count / columns);
	double sum = 0;
	uint32_t values = 0;

	for (uint32_t i = from; i < to; i++)
		if (isfinite(value[i])) {
			sum += value[i];
			values++;
		}
	return values ? sum / values : NAN;
}

static void find_bounds(struct canvas *canvas, const struct curve *curve, uint32_t count)
{
	for (uint32_t column = 0; column < canvas->columns; column++) {
		const double mean = mean_of(curve->value, count, column, canvas->columns);

		canvas->least = fmin(canvas->least, mean); /* fmin() and fmax() ignore NaN */
		canvas->most = fmax(canvas->most, mean);
	}
}

static void put_points(struct canvas *canvas, const struct curve *curve, uint32_t count)
{
	const double height = canvas->most - canvas->least;

	for (uint32_t column = 0; column < canvas->columns; column++) {
		const double mean = mean_of(curve->value, count, column, canvas->columns);
		const double share = height > 0 ? (canvas->most - mean) / height : 0;

		if (!isnan(mean))
			canvas->cell[(uint32_t)lround(share * (CURVE_ROWS - 1))][column] = curve->mark;
	}
}

static void print_canvas(const struct canvas *canvas, uint32_t count, FILE *out)
{
	char last[16];

	for (uint32_t row = 0; row < CURVE_ROWS; row++) {
		uint32_t columns = canvas->columns;

		while (columns > 0 && canvas->cell[row][columns - 1] == ' ')
			columns--;
		if (row == 0 || row == CURVE_ROWS - 1)
			fprintf(out, "%10.4f", row ? canvas->least : canvas->most);
		else
			fprintf(out, "%10s", "");
		fprintf(out, " |%.*s\n", (int)columns, canvas->cell[row]);
	}
	fprintf(out, "%10s +", "");
	for (uint32_t column = 0; column < canvas->columns; column++)
		(void)fputc('-', out);
	(void)snprintf(last, sizeof(last), "%u", count);
	fprintf(out, "\n%10s  1%*s\n", "epoch", (int)canvas->columns - 1, last);
}

void curve_draw(const struct curve *curves, uint32_t curve_count, uint32_t count, FILE *out)
{
	struct canvas canvas = { .columns = count < CURVE_COLUMNS ? count : CURVE_COLUMNS,
				 .least = INFINITY,
				 .most = -INFINITY };

	memset(canvas.cell, ' ', sizeof(canvas.cell));
	for (uint32_t i = 0; i < curve_count; i++)
		find_bounds(&canvas, &curves[i], count);
	if (canvas.least > canvas.most)
		return;
	(void)fputc('\n', out);
	for (uint32_t i = 0; i < curve_count; i++) {
		put_points(&canvas, &curves[i], count);
		fprintf(out, "%s%c %s", i ? "   " : "", curves[i].mark, curves[i].name);
	}
	(void)fputc('\n', out);
	print_canvas(&canvas, count, out);
}

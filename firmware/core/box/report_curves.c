/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of the epochs and of the test, as charts and as a table. */
#include "core/box/chart.h"
#include "core/box/report_sections.h"

#include <math.h>

/* Copies a figure of each epoch; NAN where an epoch has none. */
static void collect(const cJSON *epochs, const char *key, double factor, double *values)
{
	const cJSON *epoch;

	cJSON_ArrayForEach(epoch, epochs) {
		const cJSON *value = json_member(epoch, key);

		*values++ = cJSON_IsNumber(value) ? factor * value->valuedouble : NAN;
	}
}

/* Draws a figure of training and of validation. */
static void draw_chart(const struct report_page *page, const struct report_figure *train,
		       const struct report_figure *held, const double *at, double *values)
{
	const uint32_t points = (uint32_t)cJSON_GetArraySize(page->epochs);
	const double factor = train->is_loss ? 1 : 100;
	const struct chart_line lines[] = { { "training", "train", at, values, points },
					    { "validation", "held", at, values + points, points } };
	const struct chart chart = {
		.title = train->label,
		.line = lines,
		.lines = sizeof(lines) / sizeof(lines[0]),
		.most = train->is_loss ? INFINITY : 100,
		.logarithmic = train->is_loss,
	};

	collect(page->epochs, train->key, factor, values);
	collect(page->epochs, held->key, factor, values + points);
	chart_draw(&chart, page->out);
}

void report_charts(const struct report_page *page)
{
	const size_t points = (size_t)cJSON_GetArraySize(page->epochs);
	CLEANUP(free_ptr) double *numbers = calloc(3 * points + 1, sizeof(*numbers));
	const cJSON *epoch;
	int place = 0;

	if (points == 0 || !numbers)
		return;
	cJSON_ArrayForEach(epoch, page->epochs) {
		numbers[place] = report_epoch(epoch, place + 1);
		place++;
	}
	fputs("<section class=\"charts\">\n", page->out);
	draw_chart(page, &report_figures[0], &report_figures[2], numbers, numbers + points);
	draw_chart(page, &report_figures[1], &report_figures[3], numbers, numbers + points);
	fputs("</section>\n", page->out);
}

/* ---- The table ---- */

static void print_cell(const struct report_page *page, double value, bool is_loss)
{
	char text[REPORT_VALUE_BYTES];

	if (is_loss)
		fprintf(page->out, "<td>%s</td>", report_figure_text(value, true, text));
	else /* the unit stands in the label */
		fprintf(page->out, "<td>%.2f</td>", 100 * value);
}

static void print_row(const struct report_page *page, const struct report_figure *figure)
{
	const struct report_curve curve = report_curve_of(page->epochs, figure);

	if (!curve.any)
		return;
	fprintf(page->out, "<tr><th>%s</th>", figure->label);
	print_cell(page, curve.first, figure->is_loss);
	print_cell(page, curve.best, figure->is_loss);
	fprintf(page->out, "<td>%.0f</td>", curve.best_epoch);
	print_cell(page, curve.last, figure->is_loss);
	fputs("</tr>\n", page->out);
}

/* The test is one pass with the weights of the last epoch. */
static void print_test(const struct report_page *page, const struct report_figure *figure)
{
	const cJSON *value = json_member(report_of(page, "test", "metrics.test"), figure->key);

	if (!cJSON_IsNumber(value))
		return;
	fprintf(page->out, "<tr><th>test %s</th><td></td><td></td><td></td>", figure->label);
	print_cell(page, value->valuedouble, figure->is_loss);
	fputs("</tr>\n", page->out);
}

void report_figures_table(const struct report_page *page)
{
	if (cJSON_GetArraySize(page->epochs) == 0)
		return;
	fputs("<section class=\"figures\"><h2>Figures by "
	      "epoch</h2>\n<table><thead><tr><th></th><th>first</th>"
	      "<th>best</th><th>at epoch</th><th>last</th></tr></thead>\n<tbody>",
	      page->out);
	for (size_t i = 0; i < 2; i++) { /* 0: training, 1: validation */
		print_row(page, &report_figures[i]);
		print_row(page, &report_figures[i + 2]);
		print_test(page, &report_figures[i]);
	}
	fputs("</tbody></table></section>\n", page->out);
}

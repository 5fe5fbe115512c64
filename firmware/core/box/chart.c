/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/chart.h"
#include "core/base/html.h"
#include "core/box/axis.h"

#include <math.h>
#include <string.h>

/* Units of the picture. On a telephone one unit is about 0.75 px, on a desk about 1. */
#define WIDTH     480.0
#define HEIGHT    272.0
#define LEFT      60.0
#define RIGHT     470.0
#define TOP       10.0
#define BOTTOM    222.0
#define COLUMN    2.0 /* width of a column in which two points of a line are drawn at most */
#define DOTS_MAX  40  /* with more points, only those between two gaps are drawn as dots */
#define DOTTED    2   /* the same with more lines */
#define LABEL_MAX 8   /* characters for which the axis of values has room */
#define SQUEEZED  " textLength=\"52\" lengthAdjust=\"spacingAndGlyphs\""
#define FACTOR    100 /* values that differ by more need a logarithmic axis */

struct plot {
	const struct chart *chart;
	struct axis x, y;
};

static bool is_known(const struct chart_line *line, uint32_t point)
{
	return axis_takes(line->at[point]) && axis_takes(line->value[point]);
}

/* Finds the range of a line. Returns false where no value is known. */
static bool range_of(const struct chart_line *line, double *least, double *most)
{
	bool any = false;

	for (uint32_t i = 0; i < line->points; i++) {
		if (!is_known(line, i))
			continue;
		any = true;
		*least = fmin(*least, line->value[i]);
		*most = fmax(*most, line->value[i]);
	}
	return any;
}

/* Finds the range of the epochs of a line, also of those without a value. */
static void epochs_of(const struct chart_line *line, double *first, double *last)
{
	for (uint32_t i = 0; i < line->points; i++)
		if (axis_takes(line->at[i])) {
			*first = fmin(*first, line->at[i]);
			*last = fmax(*last, line->at[i]);
		}
}

/* Makes the axes. Returns false where there is nothing to draw. */
static bool fit(struct plot *plot)
{
	const struct chart *chart = plot->chart;
	double least = INFINITY, most = -INFINITY, first = INFINITY, last = -INFINITY;
	bool any = false;

	for (uint32_t i = 0; i < chart->lines; i++)
		any |= range_of(&chart->line[i], &least, &most);
	if (!any)
		return false;
	for (uint32_t i = 0; i < chart->lines; i++)
		epochs_of(&chart->line[i], &first, &last);
	plot->x = axis_of_epochs(first, last);
	plot->y = axis_of_values(least, most, chart->most,
				 chart->logarithmic && least > 0 && most / least > FACTOR);
	return true;
}

static double x_at(double place)
{
	return LEFT + place * (RIGHT - LEFT);
}

static double y_at(double place)
{
	return BOTTOM - place * (BOTTOM - TOP);
}

static double x_of(const struct plot *plot, const struct chart_line *line, uint32_t point)
{
	return x_at(axis_place(&plot->x, line->at[point]));
}

/* ---- Lines ---- */

static void put_point(const struct plot *plot, const struct chart_line *line, uint32_t point, FILE *out)
{
	fprintf(out, "%.1f %.1f ", x_of(plot, line, point), y_at(axis_place(&plot->y, line->value[point])));
}

static double column_of(const struct plot *plot, const struct chart_line *line, uint32_t point)
{
	return floor(x_of(plot, line, point) / COLUMN);
}

/* Returns the next known point from `point` on; the number of points where there is none. */
static uint32_t known_from(const struct chart_line *line, uint32_t point)
{
	while (point < line->points && !is_known(line, point))
		point++;
	return point;
}

/* Returns the end of the run of points that begins at `from`, a known point: the points up to the next gap.
 * A gap within a column of the picture is none: it would not be seen. */
static uint32_t run_end(const struct plot *plot, const struct chart_line *line, uint32_t from)
{
	uint32_t end = from + 1, next;

	for (; (next = known_from(line, end)) < line->points; end = next + 1)
		if (next > end && column_of(plot, line, next) != column_of(plot, line, end - 1))
			break;
	return end;
}

/* Draws the known points of a run. */
static void trace(const struct plot *plot, const struct chart_line *line, uint32_t from, uint32_t end,
		  FILE *out)
{
	uint32_t next;

	(void)fputc('M', out);
	for (; from < end; from = next) {
		const double column = column_of(plot, line, from);
		uint32_t low = from, high = from;

		for (next = from + 1;
		     next < end && (!is_known(line, next) || column_of(plot, line, next) == column); next++) {
			if (!is_known(line, next))
				continue;
			if (line->value[next] < line->value[low])
				low = next;
			if (line->value[next] > line->value[high])
				high = next;
		}
		put_point(plot, line, low < high ? low : high, out);
		if (low != high)
			put_point(plot, line, low < high ? high : low, out);
	}
}

/* A dot is a line without length: the style gives lines round ends. */
static void draw_dots(const struct plot *plot, const struct chart_line *line, FILE *out)
{
	const bool all = line->points <= DOTS_MAX && plot->chart->lines <= DOTTED;
	uint32_t end;

	fprintf(out, "<path class=\"dots %s\" d=\"", line->class);
	for (uint32_t from = 0; (from = known_from(line, from)) < line->points; from = end) {
		end = run_end(plot, line, from);
		for (uint32_t i = from; i < end && (all || end == from + 1); i++) {
			(void)fputc('M', out);
			put_point(plot, line, i, out);
			fputs("h0", out);
		}
	}
	fputs("\"/>\n", out);
}

static void draw_line(const struct plot *plot, const struct chart_line *line, FILE *out)
{
	uint32_t end;

	fprintf(out, "<path class=\"%s\" d=\"", line->class);
	for (uint32_t from = 0; (from = known_from(line, from)) < line->points; from = end) {
		end = run_end(plot, line, from);
		if (end > from + 1)
			trace(plot, line, from, end, out);
	}
	fputs("\"/>\n", out);
	draw_dots(plot, line, out);
}

/* ---- Axes ---- */

static void draw_axes(const struct plot *plot, FILE *out)
{
	char label[AXIS_LABEL_SIZE];

	fputs("<g class=\"grid\">", out);
	for (uint32_t i = 0; i < plot->y.ticks; i++)
		fprintf(out, "<path d=\"M%.0f %.1fH%.0f\"/>", LEFT, y_at(axis_tick(&plot->y, i, label)),
			RIGHT);
	fputs("</g>\n<g text-anchor=\"end\">", out);
	for (uint32_t i = 0; i < plot->y.ticks; i++) {
		const double y = y_at(axis_tick(&plot->y, i, label));

		fprintf(out, "<text x=\"%.0f\" y=\"%.1f\"%s>%s</text>", LEFT - 8, y + 4,
			strlen(label) > LABEL_MAX ? SQUEEZED : "", label);
	}
	fputs("</g>\n<g text-anchor=\"middle\">", out);
	for (uint32_t i = 0; i < plot->x.ticks; i++) {
		const double x = x_at(axis_tick(&plot->x, i, label));

		fprintf(out, "<text x=\"%.1f\" y=\"%.0f\">%s</text>", x, BOTTOM + 20, label);
	}
	fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">epoch</text></g>\n", (LEFT + RIGHT) / 2, BOTTOM + 42);
}

void chart_draw(const struct chart *chart, FILE *out)
{
	struct plot plot = { .chart = chart };
	double least = INFINITY, most = -INFINITY;

	if (!fit(&plot))
		return;
	html_print(out, "<figure><figcaption><b>%s</b>", chart->title);
	for (uint32_t i = 0; i < chart->lines; i++)
		if (chart->line[i].name && range_of(&chart->line[i], &least, &most))
			html_print(out, " <span class=\"key %s\">%s</span>", chart->line[i].class,
				   chart->line[i].name);
	fprintf(out, "</figcaption>\n<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" ", WIDTH,
		HEIGHT);
	html_print(out, "aria-label=\"%s by epoch\">\n", chart->title);
	draw_axes(&plot, out);
	for (uint32_t i = chart->lines; i-- > 0;)
		if (range_of(&chart->line[i], &least, &most))
			draw_line(&plot, &chart->line[i], out);
	fputs("</svg></figure>\n", out);
}

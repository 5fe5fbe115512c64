/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart of lines over epochs, as a <figure> with inline SVG. The size of the text does not grow with the
 * number of points: of the points in one column of the picture the lowest and the highest are drawn. Pure: no
 * state, nothing allocates.
 *
 * The page's style (core/box/report_style.c) gives the colours, by the classes of the lines.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct chart_line {
	const char *name;    /* in the key above the picture; NULL = the line is not in it */
	const char *class;   /* words of Kiln, written as they are */
	const double *at;    /* number of the epoch of each point */
	const double *value; /* the value of each point; a value that is not finite leaves a gap */
	uint32_t points;
};

struct chart {
	const char *title;
	const struct chart_line *line; /* the first one on top of the others */
	uint32_t lines;
	double most;      /* no value is above it: the axis ends here at the latest; INFINITY = no limit */
	bool logarithmic; /* the axis of values is logarithmic where the values differ by a factor above 100
			   */
};

/* Draws the lines that have a value; draws nothing where none has. No character of a title or of a name has a
 * meaning for the browser. */
void chart_draw(const struct chart *chart, FILE *out);

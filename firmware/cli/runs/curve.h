/* SPDX-License-Identifier: Apache-2.0 */
/* Draws curves with plain characters, for terminals and files. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* The values of one curve, one for each epoch; NaN where an epoch has none. `mark`: the character of its
 * points. */
struct curve {
	const char *name;
	char mark;
	const double *value;
};

#define CURVE_COLUMNS 60u
#define CURVE_ROWS    10u

/* Draws curves of `count` epochs each, with one scale: the largest and the smallest value stand on the left,
 * the first and the last epoch below. With more epochs than columns a point is the mean of several epochs.
 * Where two curves meet, the mark of the later one is seen. Draws nothing where no value is finite. */
void curve_draw(const struct curve *curves, uint32_t curve_count, uint32_t count, FILE *out);

/* SPDX-License-Identifier: Apache-2.0 */
/* An axis of a chart: its range, and ticks at multiples of 1, 2 or 5 times a power of ten. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXIS_TICKS_MAX  16u
#define AXIS_VALUE_MAX  1e300 /* a value beyond it has no place on an axis */
#define AXIS_LABEL_SIZE 32u

struct axis {
	double from, to;    /* the range; of a logarithmic axis the decimal logarithms */
	double first, step; /* the first tick, and the distance between two */
	uint32_t ticks;     /* at most AXIS_TICKS_MAX */
	bool logarithmic;
};

/* Makes the axis of epochs `least` .. `most`: ticks at whole numbers, and no room at the ends. */
struct axis axis_of_epochs(double least, double most);
/* Makes the axis of values `least` .. `most`, which ends at ticks. It has no number below 0 unless a value
 * is. `limit`: it ends here at the latest. `logarithmic`: where the values are above 0. */
struct axis axis_of_values(double least, double most, double limit, bool logarithmic);

/* Tells whether an axis has a place for a value. */
bool axis_takes(double value);
/* Returns where a value lies on the axis: 0 = at its beginning, 1 = at its end. */
double axis_place(const struct axis *axis, double value);
/* Returns where tick `index` lies, and writes its label. */
double axis_tick(const struct axis *axis, uint32_t index, char out[static AXIS_LABEL_SIZE]);

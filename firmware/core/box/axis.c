/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/axis.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

/* Steps of an axis at most; an axis of values may have one more at each end. */
#define EPOCH_STEPS 8
#define VALUE_STEPS 5
#define FLAT        1e-5 /* values that differ by a smaller share are equal: their labels would be too long */
#define SAME        1e-8 /* share of the number of an epoch below and above it, where there is one epoch */
#define TINY        1e-290 /* values that differ by less are equal, and a value below it is 0 */
#define PAD         0.1    /* share of a value below and above it, where all values are equal; else so much */
#define EXPONENT    5      /* characters of a point and of an exponent such as e-07 */
#define SLACK       1e-6   /* share of a step that rounding may cost a tick */

bool axis_takes(double value)
{
	return fabs(value) <= AXIS_VALUE_MAX; /* false for NaN */
}

/* Returns the smallest of 1, 2, 5 times a power of ten that makes at most `steps` steps of `span`. */
static double step_of(double span, double steps)
{
	const double raw = span / steps, power = pow(10, floor(log10(raw))), lead = raw / power;

	return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static void add_ticks(struct axis *axis)
{
	axis->first = ceil(axis->from / axis->step - SLACK) * axis->step;
	while (axis->ticks < AXIS_TICKS_MAX &&
	       axis->first + axis->ticks * axis->step <= axis->to + SLACK * axis->step)
		axis->ticks++;
}

static bool is_flat(double least, double most, double share)
{
	return most - least <= fmax(share * fmax(fabs(least), fabs(most)), TINY);
}

struct axis axis_of_epochs(double least, double most)
{
	struct axis axis = { .from = least, .to = most };

	if (is_flat(least, most, SAME / 10)) {
		const double pad = fmax(PAD, SAME * fabs(least));

		axis.from -= pad;
		axis.to += pad;
	}
	axis.step = fmax(step_of(axis.to - axis.from, EPOCH_STEPS), 1);
	add_ticks(&axis);
	return axis;
}

struct axis axis_of_values(double least, double most, double limit, bool logarithmic)
{
	struct axis axis = { .logarithmic = logarithmic };
	const bool positive = least >= 0;

	if (logarithmic) {
		least = log10(least);
		most = log10(most);
	} else if (is_flat(least, most, FLAT)) {
		const double pad = fabs(least) <= TINY ? PAD : PAD * fabs(least);

		least -= pad;
		most += pad;
	}
	axis.step = step_of(most - least, VALUE_STEPS);
	if (logarithmic)
		axis.step = fmax(axis.step, 1);
	axis.from = floor(least / axis.step + SLACK) * axis.step;
	axis.to = ceil(most / axis.step - SLACK) * axis.step;
	if (!logarithmic && positive)
		axis.from = fmax(axis.from, 0);
	if (!logarithmic)
		axis.to = fmin(axis.to, limit);
	add_ticks(&axis);
	return axis;
}

double axis_place(const struct axis *axis, double value)
{
	return ((axis->logarithmic ? log10(value) : value) - axis->from) / (axis->to - axis->from);
}

/* How the labels of an axis write a number: with decimals, or with an exponent where that is shorter. */
struct form {
	int decimals, digits; /* so many tell each tick from its neighbours */
	bool exponent;
};

static struct form form_of(const struct axis *axis)
{
	const double lead = floor(log10(fmax(fabs(axis->from), fabs(axis->to)))),
		     last = floor(log10(axis->step) + SLACK);
	struct form form = {
		.decimals = (int)fmin(fmax(0, -last), 12), /* with more an exponent is shorter */
		.digits = (int)fmin(fmax(lead - last + 1, 3), DBL_DECIMAL_DIG),
	};
	const int before = (int)fmax(0, lead) + 1, point = form.decimals > 0;

	form.exponent = before + point + form.decimals > form.digits + EXPONENT;
	return form;
}

double axis_tick(const struct axis *axis, uint32_t index, char out[static AXIS_LABEL_SIZE])
{
	const double at = axis->first + index * axis->step;
	const struct form form = form_of(axis);
	const int length = axis->logarithmic ? snprintf(out, AXIS_LABEL_SIZE, "%g", pow(10, at))
			   : form.exponent
				   ? snprintf(out, AXIS_LABEL_SIZE, "%.*g", form.digits, at)
				   : snprintf(out, AXIS_LABEL_SIZE, "%.*f", form.decimals, at == 0 ? 0 : at);

	assert(length > 0 && length < (int)AXIS_LABEL_SIZE);
	(void)length;
	return (at - axis->from) / (axis->to - axis->from);
}

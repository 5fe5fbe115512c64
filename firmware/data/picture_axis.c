/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of a filter, as tf.image.resize (v2) and Pillow have them. Pixel k of the part lies at k + 0.5,
 * pixel i of the result at (i + 0.5) * from / to. Weights beyond the edge are left out, and the others scaled
 * to a sum of 1. With antialias the filter is as wide as a pixel of the result.
 */
#include "data/picture_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_ONE 16384 /* 2^14 */

/* The filter of Keys with a = -0.5. */
static double cubic(double x)
{
	if (x < 1)
		return (1.5 * x - 2.5) * x * x + 1;
	return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static double kernel(int interpolation, double x)
{
	x = fabs(x);
	if (interpolation == INTERPOLATE_BICUBIC)
		return cubic(x);
	return x < 1 ? 1 - x : 0;
}

/* How a pixel of the result is made. */
struct reach {
	double scale, width, radius;
};

static struct reach reach_of(const struct picture_axis_key *key)
{
	struct reach reach = { .scale = (double)key->from / key->to, .width = 1 };

	if (key->antialias && reach.scale > 1)
		reach.width = reach.scale;
	reach.radius = key->interpolation == INTERPOLATE_BICUBIC ? 2 * reach.width : reach.width;
	return reach;
}

static uint32_t clamp(double at, uint32_t max)
{
	return at < 0 ? 0 : at > max ? max : (uint32_t)at;
}

/* Sets the pixels [*first, *end) of the part that pixel i of the result is made of. */
static void find_taps(const struct picture_axis_key *key, const struct reach *reach, uint32_t i,
		      uint32_t *first, uint32_t *end)
{
	const double centre = (i + 0.5) * reach->scale;

	switch (key->interpolation) {
	case INTERPOLATE_NEAREST:
		*first = clamp(floor(centre), key->from - 1);
		*end = *first + 1;
		return;
	case INTERPOLATE_AREA:
		*first = clamp(floor(i * reach->scale), key->from - 1);
		*end = clamp(ceil((i + 1) * reach->scale), key->from);
		break;
	default:
		/* The weight of a pixel that lies a radius away is 0. */
		*first = clamp(floor(centre - reach->radius - 0.5) + 1, key->from - 1);
		*end = clamp(ceil(centre + reach->radius - 0.5), key->from);
	}
	if (*end <= *first)
		*end = *first + 1;
}

static double weight_of(const struct picture_axis_key *key, const struct reach *reach, uint32_t i, uint32_t k)
{
	const double begin = i * reach->scale, end = (i + 1) * reach->scale;

	switch (key->interpolation) {
	case INTERPOLATE_NEAREST:
		return 1;
	case INTERPOLATE_AREA:
		return fmax(0, fmin(end, k + 1.0) - fmax(begin, k));
	default:
		return kernel(key->interpolation, (k + 0.5 - (i + 0.5) * reach->scale) / reach->width);
	}
}

/* Writes the weights of pixel i as integers with the sum WEIGHT_ONE. What is rounded is the sum of the
 * weights so far, so each weight is at most 1 off, and what rounding leaves over stays where it arises. */
static void weigh(const struct picture_axis_key *key, const struct reach *reach, uint32_t i, uint32_t first,
		  uint32_t end, int16_t *weight)
{
	double sum = 0, part = 0;
	long written = 0;

	for (uint32_t k = first; k < end; k++)
		sum += weight_of(key, reach, i, k);
	for (uint32_t k = first; k < end; k++) {
		long so_far;

		part += sum > 0 ? weight_of(key, reach, i, k) / sum : 1.0 / (end - first);
		so_far = k + 1 < end ? lrint(part * WEIGHT_ONE) : WEIGHT_ONE;
		weight[k - first] = (int16_t)(so_far - written);
		written = so_far;
	}
}

static void turn(int16_t *weight, uint32_t count)
{
	for (uint32_t k = 0; k < count / 2; k++) {
		const int16_t kept = weight[k];

		weight[k] = weight[count - 1 - k];
		weight[count - 1 - k] = kept;
	}
}

static uint32_t whole_units(uint32_t taps, uint32_t unit)
{
	return (taps + unit - 1) / unit * unit;
}

static void fill(struct picture_axis *axis)
{
	const struct picture_axis_key *key = &axis->key;
	const struct reach reach = reach_of(key);

	axis->two_taps = true;
	for (uint32_t i = 0; i < key->to; i++) {
		int16_t *weight = (int16_t *)axis->weights + (uint64_t)i * axis->taps_max;
		uint32_t first, end;

		find_taps(key, &reach, i, &first, &end);
		memset(weight, 0, axis->taps_max * sizeof(*weight));
		weigh(key, &reach, i, first, end, weight);
		if (key->mirror)
			turn(weight, end - first);
		((uint32_t *)axis->first)[i] = key->mirror ? key->from - end : first;
		((uint32_t *)axis->taps)[i] = whole_units(end - first, key->unit);
		axis->two_taps = axis->two_taps && end - first <= 2;
	}
}

int picture_axis_make(struct picture_axis *axis, const struct picture_axis_key *key, struct error *err)
{
	const struct reach reach = reach_of(key);
	/* The widest: 2 * radius, or a box of `scale`, and a pixel at both ends. */
	const double widest = ceil(fmax(2 * reach.radius, reach.scale)) + 2;
	const uint64_t to = key->to;
	int r;

	if (axis->key.from == key->from && axis->key.to == key->to &&
	    axis->key.interpolation == key->interpolation && axis->key.antialias == key->antialias &&
	    axis->key.mirror == key->mirror && axis->key.unit == key->unit)
		return 0;
	axis->key = (struct picture_axis_key){ 0 };
	axis->taps_max = whole_units((uint32_t)fmin(widest, key->from), key->unit);
	if ((r = picture_grow(&axis->first, &axis->first_capacity, to * sizeof(uint32_t), err)) < 0 ||
	    (r = picture_grow(&axis->taps, &axis->taps_capacity, to * sizeof(uint32_t), err)) < 0 ||
	    (r = picture_grow(&axis->weights, &axis->weights_capacity, to * axis->taps_max * sizeof(int16_t),
			      err)) < 0)
		return r;
	axis->key = *key;
	fill(axis);
	return 0;
}

void picture_axis_done(struct picture_axis *axis)
{
	free(axis->first);
	free(axis->taps);
	free(axis->weights);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two passes of a filter: lines of a picture become lines of another size. The horizontal pass makes
 * `columns` of 16 bits from each line that counts; the vertical pass makes a line of the result from several
 * such lines. Integers alone, so each processor gives the same values. For data/picture*.c only.
 *
 * Values between the passes are 64 times those of a pixel, and are not cut off at 0 and 255: a bicubic filter
 * goes beyond both.
 */
#pragma once

#include "data/picture_source.h"

/* One direction of a filter. */
struct picture_axis_key {
	uint32_t from, to; /* pixels of the part that is filtered; pixels of the result */
	int interpolation; /* enum config_interpolation */
	bool antialias;
	bool mirror;   /* pixel 0 of the result is made of the last pixels of the part */
	uint32_t unit; /* the number of pixels that a pixel of the result is made of is a multiple of it: 2 or
			  4 */
};

/* For each pixel of the result, the pixels of the part that it is made of, and their weights. */
struct picture_axis {
	struct picture_axis_key key;
	uint32_t taps_max; /* a multiple of key.unit */
	bool two_taps;     /* each pixel of the result is made of two */
	void *first, *taps, *weights;
	uint64_t first_capacity, taps_capacity, weights_capacity;
};

/* Makes the tables of a key; does nothing where they are made already. Errors: -ENOMEM. */
MUST_CHECK int picture_axis_make(struct picture_axis *axis, const struct picture_axis_key *key,
				 struct error *err);
void picture_axis_done(struct picture_axis *axis);

/* The first pixel of the part, how many count (a multiple of key.unit; the last ones may have the weight 0
 * and lie behind the part), and their weights, which sum up to 2^14. */
static inline uint32_t axis_first(const struct picture_axis *axis, uint32_t i)
{
	return ((const uint32_t *)axis->first)[i];
}

static inline uint32_t axis_taps(const struct picture_axis *axis, uint32_t i)
{
	return ((const uint32_t *)axis->taps)[i];
}

static inline const int16_t *axis_weights(const struct picture_axis *axis, uint32_t i)
{
	return (const int16_t *)axis->weights + (uint64_t)i * axis->taps_max;
}

/* `simd`: by vectors where this processor has them; the values are the same. */
void picture_across(const struct picture_axis *axis, enum picture_pixel pixel, const uint8_t *line, bool simd,
		    int16_t *ret_columns);
/* Makes line i of the result: `columns` values, of the lines line[0] .. line[taps - 1]. */
void picture_down(const struct picture_axis *axis, uint32_t i, const int16_t *const *line, uint64_t columns,
		  bool simd, uint8_t *ret_line);

/* Makes a line of the result from a line of the same size: the values that both passes give where neither
 * changes the size nor the direction. */
void picture_copy(enum picture_pixel pixel, const uint8_t *line, uint32_t pixels, bool simd,
		  uint8_t *ret_line);

/* Bytes behind a line of columns that picture_across() writes. */
#define PICTURE_COLUMNS_SPARE 64u

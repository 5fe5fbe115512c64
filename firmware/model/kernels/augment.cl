/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augmentation of pictures [rows, height, width, channels]; layers/augment.h says what each layer does with its draws.
 *   warp_matrix       the map of each row, [rows, 6], made or multiplied: an item a row
 *   warp              y = x sampled through the maps: an item a pixel
 *   contrast_sums, contrast_table, brightness_table
 *                     a scale and an offset for each row and channel, [rows, 2, channels]
 *   adjust            y = clip(x * scale + offset), a NaN stays a NaN: an item a number
 *   crop_places, crop y = a part of x: an item a number
 * A sum of contrast has 64 parts, of pixels 64 apart, in order; then the parts in order. References: reference() in
 * layers/random_warp.c, adjust.c and crop.c. Tolerance: crop is exact; of a warp, the coordinates have 2^-22 of the
 * picture's size; of contrast, the mean has pixels / 64 * 2^-24.
 */
#include "warp_kinds.h"

#define DRAWS uint layer, uint step, uint first_row, uint key_low, uint key_high

/* Returns the draws of a row: integers below 2^24. */
uint4 draw_bits(uint row, uint step, uint layer, uint key_low, uint key_high)
{
	uint words[4];

	philox1(0, row, step, layer, key_low, key_high, words);
	return vload4(0, words) >> 8;
}

float4 draws(uint row, uint step, uint layer, uint key_low, uint key_high)
{
	return convert_float4(draw_bits(row, step, layer, key_low, key_high)) * 0x1p-24f;
}

/* ---- Maps ---- */

/* Lines a and b of a map. */
struct map {
	float3 a, b;
};

/* Returns the linear map around the middle of a picture. */
struct map centred(float a0, float a1, float b0, float b1, int height, int width)
{
	const float x = (width - 1) * 0.5f, y = (height - 1) * 0.5f;
	struct map m;

	m.a = (float3)(a0, a1, x - a0 * x - a1 * y);
	m.b = (float3)(b0, b1, y - b0 * x - b1 * y);
	return m;
}

/* Returns the map of a layer: low and span are the ranges of its values, u the draws of the row. */
struct map layer_map(int kind, float4 u, int height, int width, float2 low, float2 span)
{
	const float first = low.x + span.x * u.x, second = low.y + span.y * u.y;
	const float turn = 2 * M_PI_F * first, sign = u.x > 0.5f ? -1 : 1;
	struct map m;

	switch (kind) {
	case WARP_FLIP:
		return centred(u.x <= 0.5f && low.x > 0 ? -1 : 1, 0, 0, u.x <= 0.5f && low.y > 0 ? -1 : 1, height,
			       width);
	case WARP_ROTATION:
		return centred(cos(turn), -sin(turn), sin(turn), cos(turn), height, width);
	case WARP_ZOOM:
		return centred(1 + second, 0, 0, 1 + first, height, width);
	case WARP_ZOOM_EVENLY:
		return centred(1 + first, 0, 0, 1 + first, height, width);
	case WARP_TRANSLATION:
		m.a = (float3)(1, 0, -second * width);
		m.b = (float3)(0, 1, -first * height);
		return m;
	default: /* WARP_SHEAR */
		m.a = (float3)(1, sign * (low.y + span.y * u.z), 0);
		m.b = (float3)(sign * (low.x + span.x * u.y), 1, 0);
		return m;
	}
}

/* Returns the line of the product of two maps: the left one's line, the right one. */
float3 map_line(float3 line, const struct map *right)
{
	return line.x * right->a + line.y * right->b + (float3)(0, 0, line.z);
}

ROWS warp_matrix(__global float *maps, int multiply, int rows, int height, int width, int kind, float low_0, float span_0,
		 float low_1, float span_1, DRAWS)
{
	const int row = get_global_id(0);
	struct map m;

	if (row >= rows)
		return;
	m = layer_map(kind, draws(first_row + row, step, layer, key_low, key_high), height, width, (float2)(low_0, low_1),
		      (float2)(span_0, span_1));
	if (multiply) {
		const struct map right = m;

		m.a = map_line(vload3(2 * row, maps), &right);
		m.b = map_line(vload3(2 * row + 1, maps), &right);
	}
	vstore3(m.a, 2 * row, maps);
	vstore3(m.b, 2 * row + 1, maps);
}

/* ---- Samples ---- */

/* Returns the place within 0 .. size - 1 that stands for `at`; "constant": `at` itself. */
float inside(float at, int size, int fill)
{
	const float period = 2 * size, last = size - 1;

	if (fill == WARP_CONSTANT)
		return at;
	if (fill == WARP_REFLECT) {
		at -= period * floor(at / period);
		at = at < size ? at : period - at - 1;
	}
	if (fill == WARP_WRAP && size > 1)
		at = at < 0 ? at + size * (trunc(-at / last) + 1) : at > last ? at - size * trunc(at / last) : at;
	return clamp(at, 0.0f, last);
}

/* Returns the index of a pixel, or -1 beyond the edges. */
int pixel_at(int x, int y, int height, int width)
{
	return x >= 0 && y >= 0 && x < width && y < height ? y * width + x : -1;
}

#define TAP(at) ((at) < 0 ? value : load((size_t)(at) * channels + c, picture))

ELEMENTS warp(__global const stored *x, __global stored *y, __global const float *maps, int rows, int height, int width,
	      int channels, int bilinear, int fill, float value)
{
	const size_t i = get_global_id(0), pixels = (size_t)height * width, row = i / pixels;
	const int at = i % pixels, line = at / width, column = at % width;

	if (row >= rows)
		return;
	const float3 a = vload3(2 * row, maps), b = vload3(2 * row + 1, maps);
	const float sx = inside(a.x * column + a.y * line + a.z, width, fill);
	const float sy = inside(b.x * column + b.y * line + b.z, height, fill);
	__global const stored *picture = x + row * pixels * channels;

	if (bilinear) {
		const float left = floor(sx), top = floor(sy), right = sx - left, down = sy - top;
		const int u = left, v = top;
		const int p00 = pixel_at(u, v, height, width), p01 = pixel_at(u + 1, v, height, width),
			  p10 = pixel_at(u, v + 1, height, width), p11 = pixel_at(u + 1, v + 1, height, width);

		for (int c = 0; c < channels; c++)
			store((1 - down) * ((1 - right) * TAP(p00) + right * TAP(p01)) +
				      down * ((1 - right) * TAP(p10) + right * TAP(p11)),
			      i * channels + c, y);
	} else {
		const int p = pixel_at(round(sx), round(sy), height, width);

		for (int c = 0; c < channels; c++)
			store(TAP(p), i * channels + c, y);
	}
}

/* ---- Contrast and brightness ---- */

/* sums[row][part][channel]; a group sums a row. */
ELEMENTS contrast_sums(__global const stored *x, __global float *sums, int rows, int pixels, int channels)
{
	const size_t i = get_global_id(0), row = i / ELEMENT_GROUP;
	const int part = i % ELEMENT_GROUP;

	if (row >= rows)
		return;
	for (int c = 0; c < channels; c++) {
		float sum = 0;

		for (int p = part; p < pixels; p += ELEMENT_GROUP)
			sum += load((row * pixels + p) * channels + c, x);
		sums[i * channels + c] = sum;
	}
}

ROWS contrast_table(__global const float *sums, __global float *table, int rows, int pixels, int channels, float low,
		    float span, DRAWS)
{
	const int row = get_global_id(0);

	if (row >= rows)
		return;
	const float factor = low + span * draws(first_row + row, step, layer, key_low, key_high).x;

	for (int c = 0; c < channels; c++) {
		float sum = 0;

		for (int part = 0; part < ELEMENT_GROUP; part++)
			sum += sums[((size_t)row * ELEMENT_GROUP + part) * channels + c];
		table[(size_t)row * 2 * channels + c] = factor;
		table[((size_t)row * 2 + 1) * channels + c] = sum / pixels * (1 - factor);
	}
}

ROWS brightness_table(__global float *table, int rows, int channels, float low, float span, DRAWS)
{
	const int row = get_global_id(0);

	if (row >= rows)
		return;
	const float offset = low + span * draws(first_row + row, step, layer, key_low, key_high).x;

	for (int c = 0; c < channels; c++) {
		table[(size_t)row * 2 * channels + c] = 1;
		table[((size_t)row * 2 + 1) * channels + c] = offset;
	}
}

ELEMENTS adjust(__global const stored *x, __global stored *y, __global const float *table, int rows, int pixels,
		int channels, float low, float high)
{
	const uint i = get_global_id(0), columns = (uint)pixels * channels, row = i / columns, c = i % channels;
	__global const float *of_row = table + (size_t)row * 2 * channels;

	if (row < rows) {
		const float changed = load(i, x) * of_row[c] + of_row[channels + c];

		store(changed < low ? low : changed > high ? high : changed, i, y);
	}
}

/* ---- Crops ---- */

/* places[row] = first line and first column, each one of 0 ... spare. */
ROWS crop_places(__global uint *places, int rows, int spare_height, int spare_width, DRAWS)
{
	const int row = get_global_id(0);

	if (row >= rows)
		return;
	const uint4 bits = draw_bits(first_row + row, step, layer, key_low, key_high);

	places[2 * row] = (ulong)bits.x * (spare_height + 1) >> 24;
	places[2 * row + 1] = (ulong)bits.y * (spare_width + 1) >> 24;
}

/* `length` numbers of each of `height` lines, of lines of `in_length` numbers. Without places: at (top, left). */
ELEMENTS crop(__global const stored *x, __global stored *y, __global const uint *places, int top, int left, int rows,
	      int height, int length, int in_height, int in_length, int channels)
{
	const uint i = get_global_id(0), line = i / length, row = line / height;

	if (row >= rows)
		return;
	if (places) {
		top = places[2 * row];
		left = places[2 * row + 1];
	}
	store(load(((size_t)row * in_height + line % height + top) * in_length + left * channels + i % length, x), i, y);
}

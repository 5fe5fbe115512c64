/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolutions of conv_packed.cl and conv.cl for devices that are not CPUs: products of tiles, see tiled_body.clh,
 * which gather the pieces of X from the images. Parameters, references and tolerances are those of these files, but
 * `zeros` is not used, and b_transposed is 0. Places in the window and in the images are followed by adding, because a
 * division for each number would cost more than its products.
 *
 * Reduction class: as in these files, but the chunks of conv.cl are positions of all images, see plan/conv.c; padding
 * counts as terms that are 0. The size of a tile does not change the bits.
 */
#include "tiled.clh"

/* Vectors, because a compiler may keep structures in memory. A pair of sides of struct window: x width, y height. A tap
 * and a channel: x column, y row, z channel. A position of the window: x column, y row, z image. */
#define SIDES(pair) ((int2)((pair)[1], (pair)[0]))

#define NOWHERE (-(1 << 30)) /* a row of an image from which no tap leads into the image */

int3 tap_at(int number, int channels, int width)
{
	return (int3)(number / channels % width, number / channels / width, number % channels);
}

/* Returns the tap and channel that follow after so many numbers of a window of this width. */
int3 tap_after(int3 tap, int numbers, int channels, int width)
{
	tap.z += numbers;
	while (tap.z >= channels) {
		tap.z -= channels;
		if (++tap.x == width) {
			tap.x = 0;
			tap.y++;
		}
	}
	return tap;
}

int3 place_at(int position, int2 out)
{
	return (int3)(position % out.x, position / out.x % out.y, position / out.x / out.y);
}

int3 place_after(int3 place, int positions, int2 out)
{
	place.x += positions;
	while (place.x >= out.x) {
		place.x -= out.x;
		if (++place.y == out.y) {
			place.y = 0;
			place.z++;
		}
	}
	return place;
}

/* Returns the index of the number of the input at this coordinate of one side; -1: padding. */
int number_at(int at, int apart, int in)
{
	const int i = apart == 1 ? at : at / apart;

	return at >= 0 && i * apart == at && i < in ? i : -1;
}

/* Returns the index in the images at which the channels begin that the tap covers if the window begins at `corner`; -1:
 * padding. */
long channels_at(int3 corner, int3 tap, int2 in, int2 dilation, int2 apart, int channels)
{
	const int x = number_at(corner.x + tap.x * dilation.x, apart.x, in.x);
	const int y = number_at(corner.y + tap.y * dilation.y, apart.y, in.y);

	return x < 0 || y < 0 ? -1 : (((long)corner.z * in.y + y) * in.x + x) * channels;
}

/* What TILE_OPEN declares of a window. */
#define WINDOW_OPEN                                                                              \
	const int2 in = SIDES(window->in), out = SIDES(window->out), size = SIDES(window->size); \
	const int2 stride = SIDES(window->stride), before = SIDES(window->before);               \
	const int2 dilation = SIDES(window->dilation), apart = SIDES(window->apart);

#define B_ALONG_K 0

/* ---- Outputs, and gradients of inputs: A [positions, taps * K] ---- */

/* Returns the number of A that the tap reads; 0 in padding and behind the last tap. */
float image_number(__global const stored *A, int3 corner, int3 tap, int2 in, int2 size, int2 dilation, int2 apart,
		   int channels)
{
	const long from = tap.y < size.y ? channels_at(corner, tap, in, dilation, apart, channels) : -1;

	return from < 0 ? 0 : load(from + tap.z, A);
}

float4 image_piece(__global const stored *A, int3 corner, int3 tap, int2 in, int2 size, int2 dilation, int2 apart,
		   int channels)
{
	float4 piece;

	if (channels % 4 == 0) {
		const long from = tap.y < size.y ? channels_at(corner, tap, in, dilation, apart, channels) : -1;

		return from < 0 ? (float4)(0) : load4(A + from + tap.z);
	}
	piece.x = image_number(A, corner, tap, in, size, dilation, apart, channels);
	tap = tap_after(tap, 1, channels, size.x);
	piece.y = image_number(A, corner, tap, in, size, dilation, apart, channels);
	tap = tap_after(tap, 1, channels, size.x);
	piece.z = image_number(A, corner, tap, in, size, dilation, apart, channels);
	tap = tap_after(tap, 1, channels, size.x);
	piece.w = image_number(A, corner, tap, in, size, dilation, apart, channels);
	return piece;
}

#define TILE_OPEN                                                                                               \
	WINDOW_OPEN                                                                                             \
	const int i0 = get_group_id(0) * TILE_ROWS, j0 = get_group_id(1) * TILE_COLUMNS;                        \
	const int terms = size.x * size.y * K;                                                                  \
	int3 tap = tap_at(PIECE_K(t, TILE_ROWS, 1), K, size.x), corner[PIECES_A];                               \
                                                                                                                \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                    \
	{                                                                                                       \
		const int i = i0 + PIECE_ROW(t + ITEMS * p, TILE_ROWS, 1);                                      \
                                                                                                                \
		corner[p] = place_at(i, out);                                                                   \
		corner[p].xy = corner[p].xy * stride - before;                                                  \
		corner[p].y = i < M ? corner[p].y : NOWHERE;                                                    \
	}
#define A_ALONG_K 1
#define A_FETCH                                                                             \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++) a[p] =                         \
		image_piece(A, corner[p], tap, in, size, dilation, apart, K);               \
	tap = tap_after(tap, DEPTH, K, size.x);
#define B_FROM B
#define FINISH(x, i, j)                                                                                         \
	finish_item(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,  \
		    key_high);

#define TILE_ROWS    128
#define TILE_COLUMNS 128
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        16
TILED(256) conv_128x128(GEMM_PARAMETERS, __global const struct window *window, __global const stored *zeros)
#include "tiled_body.clh"

#define TILE_ROWS    128
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        16
TILED(256) conv_128x64(GEMM_PARAMETERS, __global const struct window *window, __global const stored *zeros)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        32
TILED(256) conv_64x64(GEMM_PARAMETERS, __global const struct window *window, __global const stored *zeros)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 32
#define ITEMS        128
#define ITEM_COLUMNS 8
#define DEPTH        32
TILED(128) conv_64x32(GEMM_PARAMETERS, __global const struct window *window, __global const stored *zeros)
#include "tiled_body.clh"

#undef FINISH
#undef B_FROM
#undef A_FETCH
#undef A_ALONG_K
#undef TILE_OPEN

/* ---- Gradients of kernel and bias: A [taps * channels + 1, positions] ----
 *
 * A chunk has chunk_positions of the positions of all images. Groups (chunks * tiles, ceil(filters / tile columns)).
 * partial [chunks, taps * channels + 1, filters]. Row taps * channels of a chunk is dbias, computed with 1 instead of X;
 * it is left out if the tiles do not reach it. */

/* Returns the number of A in this row, which is that of the tap; row `rows` holds 1. */
float tap_number(__global const stored *X, int3 corner, int3 tap, int2 in, int2 dilation, int2 apart, int channels, int row,
		 int rows)
{
	const long from = row < rows ? channels_at(corner, tap, in, dilation, apart, channels) : -1;

	return row == rows ? 1 : from < 0 ? 0 : load(from + tap.z, X);
}

float4 tap_piece(__global const stored *X, int3 corner, int3 tap, int2 in, int width, int2 dilation, int2 apart,
		 int channels, int row, int rows)
{
	float4 piece;

	if (channels % 4 == 0) {
		const long from = row < rows ? channels_at(corner, tap, in, dilation, apart, channels) : -1;

		return row == rows ? (float4)(1, 0, 0, 0) : from < 0 ? (float4)(0) : load4(X + from + tap.z);
	}
	piece.x = tap_number(X, corner, tap, in, dilation, apart, channels, row, rows);
	tap = tap_after(tap, 1, channels, width);
	piece.y = tap_number(X, corner, tap, in, dilation, apart, channels, row + 1, rows);
	tap = tap_after(tap, 1, channels, width);
	piece.z = tap_number(X, corner, tap, in, dilation, apart, channels, row + 2, rows);
	tap = tap_after(tap, 1, channels, width);
	piece.w = tap_number(X, corner, tap, in, dilation, apart, channels, row + 3, rows);
	return piece;
}

#define KERNEL_PARAMETERS                                                                                           \
	__global const stored *X, __global const stored *DY, __global float *partial, int images,                   \
		int chunk_positions, int channels, int N, int tiles, __global const struct window *window

#define TILE_OPEN                                                                                              \
	WINDOW_OPEN                                                                                            \
	const int rows = size.x * size.y * channels, chunk = get_group_id(0) / tiles;                          \
	const int first = chunk * chunk_positions;                                                             \
	const int terms = clamp(images * out.x * out.y - first, 0, chunk_positions);                           \
	const int i0 = get_group_id(0) % tiles * TILE_ROWS, j0 = get_group_id(1) * TILE_COLUMNS;               \
	const int row = i0 + PIECE_ROW(t, TILE_ROWS, 0);                                                       \
	const int3 tap = tap_at(row, channels, size.x);                                                        \
	int3 place[PIECES_A];                                                                                  \
	int a_left[PIECES_A];                                                                                  \
                                                                                                               \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                   \
	{                                                                                                      \
		const int k = PIECE_K(t + ITEMS * p, TILE_ROWS, 0);                                            \
                                                                                                               \
		place[p] = place_at(first + k, out);                                                           \
		a_left[p] = terms - k;                                                                         \
	}
#define A_ALONG_K 0
#define A_FETCH                                                                                                \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                   \
	{                                                                                                      \
		const int3 corner = (int3)(place[p].xy * stride - before, place[p].z);                         \
                                                                                                               \
		a[p] = a_left[p] > 0 ?                                                                         \
			       tap_piece(X, corner, tap, in, size.x, dilation, apart, channels, row, rows) :   \
			       (float4)(0);                                                                    \
		place[p] = place_after(place[p], DEPTH, out);                                                  \
		a_left[p] -= DEPTH;                                                                            \
	}
#define B_FROM DY + (size_t)first * N
#define FINISH(x, i, j)                                                                   \
	if (i <= rows && j < N)                                                           \
		partial[((size_t)chunk * (rows + 1) + i) * N + j] = x;

#define TILE_ROWS    128
#define TILE_COLUMNS 128
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        16
TILED(256) conv_kernel_128x128(KERNEL_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    128
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        16
TILED(256) conv_kernel_128x64(KERNEL_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        32
TILED(256) conv_kernel_64x64(KERNEL_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 32
#define ITEMS        128
#define ITEM_COLUMNS 8
#define DEPTH        32
TILED(128) conv_kernel_64x32(KERNEL_PARAMETERS)
#include "tiled_body.clh"

#undef FINISH
#undef B_FROM
#undef A_FETCH
#undef A_ALONG_K
#undef TILE_OPEN
#undef B_ALONG_K
#undef WINDOW_OPEN

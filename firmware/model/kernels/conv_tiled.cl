/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolutions of conv_packed.cl and conv.cl for devices that are not CPUs: products of tiles, see tiled_body.clh,
 * which gather the pieces of X from the images. Parameters, references and tolerances are those of these files, but
 * there is no `zeros`, and b_transposed is 0. Places in the window and in the images are followed by adding, because a
 * division for each number would cost more than its products.
 *
 * Reduction class: as in these files, but the chunks of conv.cl are positions of all images, see plan/conv.c; padding
 * counts as terms that are 0. The size of a tile does not change the bits, but chunks do.
 */
#include "tiled.clh"
#include "conv_taps.clh"

#define B_ALONG_K 0

/* ---- Outputs, and gradients of inputs: A [positions, taps * K] ----
 *
 * Chunks of the terms are those of gemm_tiled.cl. */

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

	piece.x = image_number(A, corner, tap, in, size, dilation, apart, channels);
	tap = tap_after(tap, 1, channels, size.x);
	piece.y = image_number(A, corner, tap, in, size, dilation, apart, channels);
	tap = tap_after(tap, 1, channels, size.x);
	piece.z = image_number(A, corner, tap, in, size, dilation, apart, channels);
	tap = tap_after(tap, 1, channels, size.x);
	piece.w = image_number(A, corner, tap, in, size, dilation, apart, channels);
	return piece;
}

/* Where the pieces of four channels are that the tap reads; NOWHERE_AT: in padding, or behind the last tap. */
#define NOWHERE_AT ((__global const stored *)0)
#define TAP_BEGIN                                                                                                 \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                      \
	{                                                                                                         \
		const long from = tap.y < size.y ? channels_at(corner[p], tap, in, dilation, apart, K) : -1;      \
                                                                                                                  \
		a_at[p] = from < 0 ? NOWHERE_AT : A + from + tap.z;                                               \
	}
#define TILE_OPEN                                                                                               \
	WINDOW_OPEN                                                                                             \
	const int tiles = (N + TILE_COLUMNS - 1) / TILE_COLUMNS, chunk = get_group_id(1) / tiles;               \
	const int i0 = get_group_id(0) * TILE_ROWS, j0 = get_group_id(1) % tiles * TILE_COLUMNS;                \
	const int all_terms = size.x * size.y * K, first = chunk * group_rows;                                  \
	const int terms = clamp(all_terms - first, 0, group_rows);                                              \
	__global const stored *a_at[PIECES_A];                                                                  \
	int3 tap = tap_at(first + PIECE_K(t, TILE_ROWS, 1), K, size.x), corner[PIECES_A];                       \
                                                                                                                \
	C = (__global stored *)((__global float *)C + (size_t)chunk * M * N);                                   \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                    \
	{                                                                                                       \
		const int i = i0 + PIECE_ROW(t + ITEMS * p, TILE_ROWS, 1);                                      \
                                                                                                                \
		corner[p] = place_at(i, out);                                                                   \
		corner[p].xy = corner[p].xy * stride - before;                                                  \
		corner[p].y = i < M ? corner[p].y : NOWHERE;                                                    \
	}                                                                                                       \
	TAP_BEGIN
#define A_ALONG_K 1
#define A_FETCH(left)                                                                                           \
	if (K % 4 == 0) {                                                                                       \
		_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                            \
		{                                                                                               \
			a[p] = a_at[p] ? load4(a_at[p]) : (float4)(0);                                          \
			a_at[p] += a_at[p] ? DEPTH : 0;                                                         \
		}                                                                                               \
		tap.z += DEPTH;                                                                                 \
		if (tap.z >= K) {                                                                               \
			tap = tap_after(tap, 0, K, size.x);                                                     \
			TAP_BEGIN                                                                               \
		}                                                                                               \
	} else {                                                                                                \
		_Pragma("unroll") for (int p = 0; p < PIECES_A; p++) a[p] =                                     \
			image_piece(A, corner[p], tap, in, size, dilation, apart, K);                           \
		tap = tap_after(tap, DEPTH, K, size.x);                                                         \
	}
#define B_FROM  B + (size_t)first * N
#define B_TERMS all_terms
#define FINISH(x, i, j)                                                                                         \
	finish_four(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,  \
		    key_high);
#define USED(size)        USE_conv_##size
#define TILE_KERNEL(size) conv_##size(GEMM_PARAMETERS, __global const struct window *window)
#include "tiles.clh"

#undef FINISH
#undef B_TERMS
#undef B_FROM
#undef A_FETCH
#undef A_ALONG_K
#undef TILE_OPEN

/* ---- Gradients of kernel and bias: A [taps * channels + 1, positions] ----
 *
 * A chunk has chunk_positions of the positions of all images. Groups (chunks * tiles, ceil(filters / tile columns)).
 * partial [chunks, taps * channels + 1, filters]. Row taps * channels of a chunk is dbias, computed with 1 instead of X;
 * it is left out if the tiles do not reach it. */

/* Returns the number of X that the row reads, if the row is one of the taps. `at`: the index of the corner's first number. */
float tap_number(__global const stored *X, struct tap_row row, int2 corner, long at, int2 in)
{
	const int x = corner.x + row.x, y = corner.y + row.y;

	return row.x >= 0 && x >= 0 && x < in.x && y >= 0 && y < in.y ? load(at + row.from, X) : 0;
}

float4 tap_piece(__global const stored *X, const struct tap_row *row, int2 corner, long at, int2 in, int channels)
{
	if (channels % 4 == 0) {
		const int x = corner.x + row->x, y = corner.y + row->y;

		return row->x >= 0 && x >= 0 && x < in.x && y >= 0 && y < in.y ? load4(X + at + row->from) : (float4)(0);
	}
	return (float4)(tap_number(X, row[0], corner, at, in), tap_number(X, row[1], corner, at, in),
			tap_number(X, row[2], corner, at, in), tap_number(X, row[3], corner, at, in));
}

/* The four rows from one on that is so many rows before the last row of A, which holds ones. */
float4 ones_at(int before)
{
	return (float4)(before == 0, before == 1, before == 2, before == 3);
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
	struct tap_row tap_row[4];                                                                             \
	int3 place[PIECES_A];                                                                                  \
	int a_left[PIECES_A];                                                                                  \
                                                                                                               \
	_Pragma("unroll") for (int e = 0; e < 4; e++)                                                          \
	{                                                                                                      \
		const int3 tap = tap_at(row + e, channels, size.x);                                            \
                                                                                                               \
		tap_row[e].x = row + e < rows ? tap.x * dilation.x : NOWHERE;                                  \
		tap_row[e].y = tap.y * dilation.y;                                                             \
		tap_row[e].from = (tap_row[e].y * in.x + tap.x * dilation.x) * channels + tap.z;               \
	}                                                                                                      \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                   \
	{                                                                                                      \
		const int k = PIECE_K(t + ITEMS * p, TILE_ROWS, 0);                                            \
                                                                                                               \
		place[p] = place_at(first + k, out);                                                           \
		a_left[p] = terms - k;                                                                         \
	}
#define A_ALONG_K 0
#define A_FETCH(left)                                                                                          \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                   \
	{                                                                                                      \
		const int2 corner = place[p].xy * stride - before;                                             \
		const long at = (((long)place[p].z * in.y + corner.y) * in.x + corner.x) * channels;           \
                                                                                                               \
		a[p] = a_left[p] > 0 ? tap_piece(X, tap_row, corner, at, in, channels) + ones_at(rows - row) : \
				       (float4)(0);                                                            \
		place[p] = place_after(place[p], DEPTH, out);                                                  \
		a_left[p] -= DEPTH;                                                                            \
	}
#define B_FROM  DY + (size_t)first * N
#define B_TERMS terms
#define FINISH(x, i, j)                                                                                        \
	finish_four(x, i, j, (__global stored *)(partial + (size_t)chunk * (rows + 1) * N), rows + 1, N,       \
		    EPILOGUE_WIDE, 0, 0, 0, 0, 0, 0, 0, 0, 0);
#define USED(size)        USE_conv_kernel_##size
#define TILE_KERNEL(size) conv_kernel_##size(KERNEL_PARAMETERS)
#include "tiles.clh"

#undef FINISH
#undef B_TERMS
#undef B_FROM
#undef A_FETCH
#undef A_ALONG_K
#undef TILE_OPEN
#undef B_ALONG_K

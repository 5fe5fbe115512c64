/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = epilogue(A [M, K] x B [K, N]) for devices that are not CPUs. Parameters, epilogue, order of the sums and
 * tolerance are those of gemm.cl, also those of bias_gradient, for which B must not be transposed. With b_transposed, B is
 * stored as [N, K]. group_rows is not used.
 *
 * gemm_16x16 is for small products: 256 work-items compute one element of C each, from tiles of A and B in local memory
 * that have so many terms at once that few loads are waited for. The other kernels compute larger tiles, see
 * tiled_body.clh. The size of a tile does not change the bits.
 */
#include "tiled.clh"

/* Writes the sums of `columns` columns of B, from j0 on, by a group of `items` items. Items sum chunks of a column side by
 * side, and the first of them adds the chunks in order. `partial` [items]. */
void column_sums_group(__global const stored *B, int N, int K, int j0, int columns, int items, __local float *partial,
		       __global float *sums)
{
	const int lines = items / columns, line = get_local_id(0) / columns, own = get_local_id(0) % columns, j = j0 + own;
	float total = 0;

	for (int first = 0; first < K; first += lines * COLUMN_CHUNK) {
		const int k0 = first + line * COLUMN_CHUNK;
		float sum = 0;

		for (int k = k0; j < N && k < min(K, k0 + COLUMN_CHUNK); k++)
			sum += load((size_t)k * N + j, B);
		barrier(CLK_LOCAL_MEM_FENCE);
		partial[get_local_id(0)] = sum;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; line == 0 && i < lines && first + i * COLUMN_CHUNK < K; i++)
			total += partial[i * columns + own];
	}
	if (line == 0 && j < N)
		sums[j] = total;
}

#define STRIP       64 /* terms in local memory at a time */
#define STRIP_WIDTH (STRIP + 4) /* so that the rows of a tile begin at different banks of local memory */

/* Where a matrix of a product has the piece of four numbers that an item copies: row `row` of the tile, term `k`. */
struct strip {
	__global const stored *at;
	int row, k, count; /* count: how many rows, from `row` on, are in the matrix */
	size_t step;
	bool along_k, is_aligned;
};

/* The numbers of neighbouring rows are row_step apart, those of neighbouring terms k_step; one of both is 1. */
struct strip strip_open(__global const stored *from, int item, int first, int rows, size_t row_step, size_t k_step)
{
	struct strip s;

	s.along_k = k_step == 1;
	s.is_aligned = (s.along_k ? row_step : k_step) % 4 == 0;
	s.row = s.along_k ? item / (STRIP / 4) : item % (SIDE / 4) * 4;
	s.k = s.along_k ? item % (STRIP / 4) * 4 : item / (SIDE / 4);
	s.count = rows - first - s.row;
	s.at = from + (first + s.row) * row_step + s.k * k_step;
	s.step = STRIP * k_step;
	return s;
}

/* Loads the piece of the terms from k0 on, of which there are `left`. */
float4 strip_piece(struct strip s, int k0, int left)
{
	const int terms = left - s.k;

	if (s.count <= 0 || terms <= 0)
		return (float4)(0);
	return load_piece(s.at + k0 / STRIP * s.step, s.along_k ? terms : s.count, s.is_aligned);
}

/* The tile holds the terms of a row side by side. */
void strip_keep(struct strip s, float4 piece, __local float *tile)
{
	keep_piece(piece, tile, STRIP_WIDTH, s.row, s.k, !s.along_k);
}

__kernel __attribute__((reqd_work_group_size(SIDE *SIDE, 1, 1))) void gemm_16x16(GEMM_PARAMETERS)
{
	__local float4 memory[4][SIDE * STRIP_WIDTH / 4];
	const int t = get_local_id(0), r = t / SIDE, c = t % SIDE;
	const int i0 = get_group_id(0) * SIDE, j0 = get_group_id(1) * SIDE;
	const struct strip a = strip_open(A, t, i0, M, stride_row, stride_k);
	const struct strip b = strip_open(B, t, j0, N, b_transposed ? K : 1, b_transposed ? 1 : N);
	float4 next_a = strip_piece(a, 0, K), next_b = strip_piece(b, 0, K);
	float x = 0;

	if (i0 >= M) {
		column_sums_group(B, N, K, j0, SIDE, SIDE * SIDE, (__local float *)memory, bias_gradient);
		return;
	}
	for (int k0 = 0, half_at = 0; k0 < K; k0 += STRIP, half_at ^= 1) {
		__local const float4 *const row = memory[half_at] + r * STRIP_WIDTH / 4;
		__local const float4 *const column = memory[2 + half_at] + c * STRIP_WIDTH / 4;
		const int left = min(STRIP, K - k0);

		strip_keep(a, next_a, (__local float *)memory[half_at]);
		strip_keep(b, next_b, (__local float *)memory[2 + half_at]);
		barrier(CLK_LOCAL_MEM_FENCE);
		next_a = strip_piece(a, k0 + STRIP, K - k0 - STRIP);
		next_b = strip_piece(b, k0 + STRIP, K - k0 - STRIP);
#pragma unroll 4
		for (int k = 0; k < left; k += 4) {
			const float4 u = row[k / 4], v = column[k / 4];

			x = fma(u.x, v.x, x);
			x = fma(u.y, v.y, x);
			x = fma(u.z, v.z, x);
			x = fma(u.w, v.w, x);
		}
	}
	finish_item(x, i0 + r, j0 + c, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,
		    key_high);
}

/* ---- Larger tiles ---- */

#define TILE_OPEN                                                                                                   \
	const int i0 = get_group_id(0) * TILE_ROWS, j0 = get_group_id(1) * TILE_COLUMNS, terms = K;                 \
	const bool a_along_k = stride_k == 1, a_aligned = (a_along_k ? stride_row : stride_k) % 4 == 0;             \
	const size_t a_step = (size_t)DEPTH * stride_k;                                                             \
	__global const stored *a_at[PIECES_A];                                                                      \
	int a_left[PIECES_A], a_count[PIECES_A];                                                                    \
                                                                                                                    \
	if (i0 >= M) {                                                                                              \
		column_sums_group(B, N, K, j0, TILE_COLUMNS, ITEMS, tile_a, bias_gradient);                         \
		return;                                                                                             \
	}                                                                                                           \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                        \
	{                                                                                                           \
		const int q = t + ITEMS * p, i = i0 + PIECE_ROW(q, TILE_ROWS, a_along_k);                           \
		const int k = PIECE_K(q, TILE_ROWS, a_along_k);                                                     \
                                                                                                                    \
		a_at[p] = A + (size_t)i * stride_row + (size_t)k * stride_k;                                        \
		a_left[p] = K - k;                                                                                  \
		a_count[p] = a_along_k ? (i < M ? 4 : 0) : M - i;                                                   \
	}
#define A_ALONG_K a_along_k
#define A_FETCH                                                                                             \
	_Pragma("unroll") for (int p = 0; p < PIECES_A; p++)                                                \
	{                                                                                                   \
		a[p] = load_piece(a_at[p], min(a_count[p], a_along_k ? a_left[p] : a_left[p] > 0 ? 4 : 0),  \
				  a_aligned);                                                               \
		a_at[p] += a_step;                                                                          \
		a_left[p] -= DEPTH;                                                                         \
	}
#define B_FROM    B
#define B_ALONG_K b_transposed
#define FINISH(x, i, j)                                                                                         \
	finish_item(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,  \
		    key_high);

#define TILE_ROWS    128
#define TILE_COLUMNS 128
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        16
TILED(256) gemm_128x128(GEMM_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    128
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        16
TILED(256) gemm_128x64(GEMM_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
#define DEPTH        32
TILED(256) gemm_64x64(GEMM_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 32
#define ITEMS        128
#define ITEM_COLUMNS 8
#define DEPTH        32
TILED(128) gemm_64x32(GEMM_PARAMETERS)
#include "tiled_body.clh"

#undef FINISH
#undef B_ALONG_K
#undef B_FROM
#undef A_FETCH
#undef A_ALONG_K
#undef TILE_OPEN

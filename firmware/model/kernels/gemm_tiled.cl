/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = epilogue(A [M, K] x B [K, N]) for devices that are not CPUs. Parameters, epilogue, order of the sums and
 * tolerance are those of gemm.cl, also those of bias_gradient, for which B must not be transposed. With b_transposed, B is
 * stored as [N, K].
 *
 * gemm_16x16 is for small products: 256 work-items compute one element of C each, from tiles of A and B in local memory
 * that have so many terms at once that few loads are waited for; it does not use group_rows. The other kernels compute larger tiles, see
 * tiled_body.clh. The size of a tile does not change the bits, but chunks do.
 */
#include "tiled.clh"

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
	if (s.is_aligned)
		return load4(s.at + k0 / STRIP * s.step);
	return load_piece(s.at + k0 / STRIP * s.step, s.along_k ? terms : s.count);
}

/* The tile holds the terms of a row side by side. */
void strip_keep(struct strip s, float4 piece, __local float *tile)
{
	keep_piece(piece, tile, STRIP_WIDTH, s.row, s.k, !s.along_k);
}

/* Strips of A and of B, two of each: while the items multiply from one, they fill the other. */
typedef __local float4 strips[4][SIDE * STRIP_WIDTH / 4];

/* Computes a tile that has a row of C. */
void small_tile(strips memory, int row_group, int column_group, GEMM_PARAMETERS)
{
	const int t = get_local_id(0), r = t / SIDE, c = t % SIDE;
	const int i0 = row_group * SIDE, j0 = column_group * SIDE;
	const struct strip a = strip_open(A, t, i0, M, stride_row, stride_k);
	const struct strip b = strip_open(B, t, j0, N, b_transposed ? K : 1, b_transposed ? 1 : N);
	float4 next_a = strip_piece(a, 0, K), next_b = strip_piece(b, 0, K);
	float x = 0;

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

__kernel __attribute__((reqd_work_group_size(SIDE *SIDE, 1, 1))) void gemm_16x16(GEMM_PARAMETERS)
{
	strips memory;
	const int row_group = get_group_id(0), column_group = get_group_id(1);

	if (row_group * SIDE < M)
		small_tile(memory, row_group, column_group, GEMM_GIVEN);
	else
		column_sums_group(B, N, K, column_group * SIDE, SIDE, SIDE * SIDE, (__local float *)memory,
				  bias_gradient);
}

/* The two gradients of a dense layer of at most SIDE units: dense_backward_* of gemm_packed.cl says what its parameters
 * are. Both gradients have tiles of SIDE x SIDE and the bits of gemm_16x16. */
__kernel __attribute__((reqd_work_group_size(SIDE *SIDE, 1, 1))) void dense_backward_16x16(
	__global const stored *x, __global const stored *dy, __global const stored *w, __global stored *dw,
	__global float *bias_gradient, __global stored *dx, __global const stored *mask, int rows, int in, int units,
	int gradient_groups, int group_rows, uint dw_epilogue, uint dx_epilogue, float scale)
{
	strips memory;
	const int row_group = get_group_id(0), column_group = get_group_id(1);
	const int tile = column_group * gradient_groups + row_group;
	const bool is_dw = row_group < gradient_groups;

	/* One call: the tile would be compiled twice by two. */
	if (!is_dw || tile * SIDE < in)
		small_tile(memory, is_dw ? tile : row_group - gradient_groups, is_dw ? 0 : column_group,
			   is_dw ? x : dy, is_dw ? dy : w, is_dw ? dw : dx, is_dw ? in : rows, is_dw ? units : in,
			   is_dw ? rows : units, is_dw ? 1 : units, is_dw ? in : 1, !is_dw, group_rows,
			   is_dw ? dw_epilogue : dx_epilogue, 0, mask, 0, scale, 0, 0, 0, 0, 0, 0);
	else if (bias_gradient && (tile - 1) * SIDE < in)
		column_sums_group(dy, units, rows, 0, SIDE, SIDE * SIDE, (__local float *)memory, bias_gradient);
}

/* Two dense layers of at most SIDE units each: y [rows, units] = epilogue(x [rows, in] w), with the bits of gemm_16x16, and
 * next_y [rows, next_units] likewise from y. Groups (ceil(rows / SIDE), 1): a group computes whole rows of y, so no other
 * group writes what its second product reads. */
__kernel __attribute__((reqd_work_group_size(SIDE *SIDE, 1, 1))) void dense_forward_16x16(
	__global const stored *x, __global const stored *w, __global const float *bias, __global stored *y,
	__global const stored *next_w, __global const float *next_bias, __global stored *next_y, int rows, int in,
	int units, int next_units, uint epilogue, uint next_epilogue, float scale, uint threshold, uint layer, uint step,
	uint first_row, uint key_low, uint key_high)
{
	strips memory;

	/* Not unrolled: the tile would be compiled twice. */
#pragma unroll 1
	for (int is_next = 0; is_next < 2; is_next++) {
		small_tile(memory, get_group_id(0), 0, is_next ? y : x, is_next ? next_w : w, is_next ? next_y : y, rows,
			   is_next ? next_units : units, is_next ? units : in, is_next ? units : in, 1, 0, SIDE,
			   is_next ? next_epilogue : epilogue, is_next ? next_bias : bias, 0, 0, scale, threshold, layer,
			   step, first_row, key_low, key_high);
		barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	}
}

/* ---- Larger tiles ----
 *
 * The kernels of a form, whether A or B is stored transposed, have its name: gemm_nn, gemm_tn and gemm_nt. A chunk of the
 * terms has group_rows of them, all if these are at least K; groups (ceil(M / tile rows), chunks * ceil(N / tile columns)).
 * With several chunks C is float [chunks, M, N], without an epilogue; gemm_sum adds the chunks. */

#define TILE_OPEN                                                                                                   \
	const int tiles = (N + TILE_COLUMNS - 1) / TILE_COLUMNS, chunk = get_group_id(1) / tiles;                   \
	const int i0 = get_group_id(0) * TILE_ROWS, j0 = get_group_id(1) % tiles * TILE_COLUMNS;                    \
	const int first = chunk * group_rows, terms = clamp(K - first, 0, group_rows);                              \
	const bool a_aligned = (A_ALONG_K ? K : M) % 4 == 0;                                                        \
	__global const stored *a_at[PIECES_A];                                                                      \
                                                                                                                    \
	if (i0 >= M) {                                                                                              \
		column_sums_group(B, N, K, j0, TILE_COLUMNS, ITEMS, tile_a, bias_gradient);                         \
		return;                                                                                             \
	}                                                                                                           \
	C = (__global stored *)((__global float *)C + (size_t)chunk * M * N);                                       \
	PIECES_OPEN(a_at, PIECES_A, TILE_ROWS, A_ALONG_K, a_aligned, A + (size_t)first * A_STEP, i0, M,             \
		    (A_ALONG_K ? K : 1), A_STEP)
#define A_STEP        (A_ALONG_K ? 1 : M)
#define A_FETCH(left) PIECES_FETCH(a, a_at, PIECES_A, TILE_ROWS, A_ALONG_K, a_aligned, i0, M, A_STEP, left)
#define B_FROM        B + (size_t)first * B_STEP
#define B_TERMS       K
#define FINISH(x, i, j)                                                                                         \
	finish_four(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,  \
		    key_high);

#define A_ALONG_K         1
#define B_ALONG_K         0
#define USED(size)        USE_gemm_nn_##size
#define TILE_KERNEL(size) gemm_nn_##size(GEMM_PARAMETERS)
#include "tiles.clh"
#undef B_ALONG_K
#undef A_ALONG_K

#define A_ALONG_K         0
#define B_ALONG_K         0
#define USED(size)        USE_gemm_tn_##size
#define TILE_KERNEL(size) gemm_tn_##size(GEMM_PARAMETERS)
#include "tiles.clh"
#undef B_ALONG_K
#undef A_ALONG_K

#define A_ALONG_K         1
#define B_ALONG_K         1
#define USED(size)        USE_gemm_nt_##size
#define TILE_KERNEL(size) gemm_nt_##size(GEMM_PARAMETERS)
#include "tiles.clh"
#undef B_ALONG_K
#undef A_ALONG_K

#undef FINISH
#undef B_TERMS
#undef B_FROM
#undef A_FETCH
#undef A_STEP
#undef TILE_OPEN

/* C = epilogue(the sum of the chunks A, float [chunks, M, N], in their order), and the sums of the columns of B; group_rows
 * is the number of the chunks. Tolerance: chunks * 2^-24 of the sum of the absolute values of the chunks. */
__kernel __attribute__((reqd_work_group_size(SIDE *SIDE, 1, 1))) void gemm_sum(GEMM_PARAMETERS)
{
	__local float memory[SIDE * SIDE];
	const int i = get_group_id(0) * 4 + get_local_id(0) / 64, j0 = get_group_id(1) * 64, j = j0 + get_local_id(0) % 64;
	__global const float *const part = (__global const float *)A + (size_t)i * N + j;
	float x = 0;

	if (i >= M && get_group_id(0) * 4 >= M) {
		column_sums_group(B, N, K, j0, 64, SIDE * SIDE, memory, bias_gradient);
		return;
	}
	for (int c = 0; i < M && j < N && c < group_rows; c++)
		x += part[(size_t)c * M * N];
	finish_item(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low, key_high);
}

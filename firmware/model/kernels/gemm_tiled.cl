/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = epilogue(A [M, K] x B [K, N]) for devices that are not CPUs. Parameters, epilogue, order of the sums and
 * tolerance are those of gemm.cl. With b_transposed, B is stored as [N, K]. bias_gradient is not used, because the kernel
 * column_sums computes it; group_rows is not used either.
 *
 * gemm_16x16 is for small products: groups of 16 x 16 work-items, tiles of A and B in local memory; each item computes
 * one element of C. The other kernels compute larger tiles, see tiled_body.clh. The size of a tile does not change the
 * bits.
 */
#include "tiled.clh"

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void gemm_16x16(GEMM_PARAMETERS)
{
	__local float tile_a[SIDE][SIDE + 1], tile_b[SIDE][SIDE + 1];
	const int r = get_local_id(1), c = get_local_id(0);
	const int i = get_group_id(0) * SIDE + r, j0 = get_group_id(1) * SIDE, j = j0 + c;
	float x = 0;

	for (int k0 = 0; k0 < K; k0 += SIDE) {
		tile_a[r][c] = i < M && k0 + c < K ? load((size_t)i * stride_row + (size_t)(k0 + c) * stride_k, A) : 0;
		if (b_transposed)
			tile_b[c][r] = j0 + r < N && k0 + c < K ? load((size_t)(j0 + r) * K + k0 + c, B) : 0;
		else
			tile_b[r][c] = j < N && k0 + r < K ? load((size_t)(k0 + r) * N + j, B) : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < SIDE; k++)
			x = fma(tile_a[r][k], tile_b[k][c], x);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	finish_item(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,
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
TILED(256) gemm_128x128(GEMM_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    128
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
TILED(256) gemm_128x64(GEMM_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 64
#define ITEMS        256
#define ITEM_COLUMNS 16
TILED(256) gemm_64x64(GEMM_PARAMETERS)
#include "tiled_body.clh"

#define TILE_ROWS    64
#define TILE_COLUMNS 32
#define ITEMS        128
#define ITEM_COLUMNS 8
TILED(128) gemm_64x32(GEMM_PARAMETERS)
#include "tiled_body.clh"

#undef FINISH
#undef B_ALONG_K
#undef B_FROM
#undef A_FETCH
#undef A_ALONG_K
#undef TILE_OPEN

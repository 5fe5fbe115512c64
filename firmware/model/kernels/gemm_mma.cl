/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = epilogue(A [M, K] x B [K, N]) by tensor cores (mma.clh, wgmma.clh), from 16 bits, or from float32 rounded to TF32 (11 bits
 * instead of 24), with sums in float32. Parameters, forms, chunks and epilogue are those of gemm_tiled.cl. The numbers of a chunk, 8 of 16 bits or 4
 * of float32, must be in one row of the matrix: K is a multiple of 8 or 4 if A or B is along k, M if A is not, N if B is not.
 *
 * Reduction class: blocks of 16 terms (TF32: 8) in order; how a tensor core adds the products of a block is its own affair, but it does so the
 * same way every time. Tolerance: K * 2^-22 of the sum of absolute products, as tensor cores may cut off bits of a sum.
 */
#include "tiled.clh"
#include "mma.clh"
#include "wgmma.clh"

#if defined(STORED_BFLOAT16) || defined(STORED_FLOAT16)
#define CHUNK 8
#else
#define CHUNK 4
#endif
#define TILE_OPEN                                                                                           \
	const int tiles = (N + TILE_COLUMNS - 1) / TILE_COLUMNS, part = get_group_id(1) / tiles;            \
	const int i0 = get_group_id(0) * TILE_ROWS, j0 = get_group_id(1) % tiles * TILE_COLUMNS;            \
	const int first = part * group_rows, terms = clamp(K - first, 0, group_rows);                       \
                                                                                                            \
	if (i0 >= M) {                                                                                      \
		column_sums_group(B, N, K, j0, TILE_COLUMNS, ITEMS, tile, bias_gradient);                   \
		return;                                                                                     \
	}                                                                                                   \
	C = (__global stored *)((__global float *)C + (size_t)part * M * N);
#define A_CHUNK(row, k)    A + (A_ALONG_K ? (size_t)(row) * K + first + (k) : (size_t)(first + (k)) * M + (row))
#define B_CHUNK(column, k) B + (B_ALONG_K ? (size_t)(column) * K + first + (k) : (size_t)(first + (k)) * N + (column))
#define A_OPEN             __global const stored *a_from = A_CHUNK(a_row, a_k);
#define A_FETCH(stage, k0)                                                                                             \
	MATRIX_FETCH(A_CHUNKS, A_AT(stage, a_line + step, a_chunk), ITEMS / A_LINE, A_ALONG_K, a_from, A_ALONG_K ? K : M, a_row, \
		     M, (k0) + a_k)
#define B_WIDTH (B_ALONG_K ? K : N)
#define FINISH(x, i, j)                                                                                         \
	finish_four(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,  \
		    key_high);

#define A_ALONG_K         1
#define B_ALONG_K         0
#define USED(size)         USE_mma_nn_##size
#define TILE_KERNEL(size)  mma_nn_##size(GEMM_PARAMETERS)
#define WGMMA_USED(size)   USE_wgmma_nn_##size
#define WGMMA_KERNEL(size) wgmma_nn_##size(GEMM_PARAMETERS)
#include "mma_tiles.clh"
#if CHUNK == 8
#include "wgmma_tiles.clh"
#endif
#undef B_ALONG_K
#undef A_ALONG_K

#define A_ALONG_K         0
#define B_ALONG_K         0
#define USED(size)         USE_mma_tn_##size
#define TILE_KERNEL(size)  mma_tn_##size(GEMM_PARAMETERS)
#define WGMMA_USED(size)   USE_wgmma_tn_##size
#define WGMMA_KERNEL(size) wgmma_tn_##size(GEMM_PARAMETERS)
#include "mma_tiles.clh"
#if CHUNK == 8
#include "wgmma_tiles.clh"
#endif
#undef B_ALONG_K
#undef A_ALONG_K

#define A_ALONG_K         1
#define B_ALONG_K         1
#define USED(size)         USE_mma_nt_##size
#define TILE_KERNEL(size)  mma_nt_##size(GEMM_PARAMETERS)
#define WGMMA_USED(size)   USE_wgmma_nt_##size
#define WGMMA_KERNEL(size) wgmma_nt_##size(GEMM_PARAMETERS)
#include "mma_tiles.clh"
#if CHUNK == 8
#include "wgmma_tiles.clh"
#endif
#undef B_ALONG_K
#undef A_ALONG_K

#undef FINISH
#undef B_WIDTH
#undef A_FETCH
#undef A_OPEN
#undef B_CHUNK
#undef A_CHUNK
#undef TILE_OPEN
#undef CHUNK

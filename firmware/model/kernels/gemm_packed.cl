/* SPDX-License-Identifier: Apache-2.0 */
#ifdef CPU_DEVICE
/*
 * C [M, N] = epilogue(A [M, K] x B) on CPU devices, B [K, N] or, with b_transposed, stored as [N, K]. Parameters,
 * epilogue, edges and tiles are those of gemm.cl. A is row-major: where A is stored transposed, gemm_transpose copies it
 * first.
 *
 * Work-group: one work-item, which computes group_rows rows of C in the columns of PANELS tiles; groups (ceil(M /
 * group_rows) [+ 1 where bias_gradient is not null], ceil(N / (PANELS * tile columns))). A group packs PACKED_TERMS
 * rows of those columns of B into private memory, a panel for each column of tiles. In a panel, neighbouring rows do
 * not share a cache set. All tiles of the group read the panels; their partial sums stay in private memory, too, until
 * the next rows of B are packed. Two panels are packed at once, because each row of B is often on another page of
 * memory. If K is at most twice PACKED_TERMS, the panels are packed one after the other, each with all rows, and no
 * partial sums are stored.
 *
 * Compiled for CPU devices alone: other devices do not have so much private memory, and their compilers may therefore
 * refuse the whole program.
 *
 * Reduction class: the results have the same bits as those of gemm.cl: each sum runs over k in order with one fma per
 * term. Reference: dense's reference() in layers/dense.c. Tolerance: K * 2^-24 of the sum of absolute products.
 */

/* Tiles of 64, 32 and 16 columns. A tile has as many rows as the registers of a CPU can hold. */
#define PACKED       gemm_packed_6x64
#define TILE_ROWS    6
#define TILE_VECTORS 4
#define EACH_ROW     SIX
#include "gemm_packed_body.clh"
GEMM_SINGLE(gemm_packed_6x64, gemm_packed_6x64_group)

#define PACKED       gemm_packed_8x32
#define TILE_ROWS    8
#define TILE_VECTORS 2
#define EACH_ROW     EIGHT
#include "gemm_packed_body.clh"
GEMM_SINGLE(gemm_packed_8x32, gemm_packed_8x32_group)

#define PACKED       gemm_packed_8x16
#define TILE_ROWS    8
#define TILE_VECTORS 1
#define EACH_ROW     EIGHT
#include "gemm_packed_body.clh"
GEMM_SINGLE(gemm_packed_8x16, gemm_packed_8x16_group)

/*
 * Computes the two gradients of a dense layer of at most 16 units in one launch, because neither gradient reads the
 * other: dw [in, units] = x^T dy with its bias_gradient (may be null), computed as in gemm.cl, and dx [rows, in] =
 * epilogue(dy w^T), computed as in this file. Bits, reference and tolerance are those of the two separate products.
 * Groups (gradient_groups + ceil(rows / group_rows), ceil(in / (PANELS * tile columns))): in each column of groups the
 * first gradient_groups groups compute a tile of dw each, if one is left, and the other groups compute dx.
 */
GEMM_GROUP(weight_gradient, 8, 1, EIGHT(OFFSET), EIGHT(ZERO1), LOAD1, EIGHT(STEP1), EIGHT(STORE1), EIGHT(PUT1))

#define BACKWARD_SINGLE(name, input_gradient)                                                                         \
	SINGLE name(                                                                                                  \
		GROUP_ID __global const stored *x, __global const stored *dy, __global const stored *w, __global stored *dw, \
		__global float *bias_gradient, __global stored *dx, __global const stored *mask, int rows, int in,    \
		int units, int gradient_groups, int group_rows, uint dw_epilogue, uint dx_epilogue, float scale)      \
	{                                                                                                             \
		const int tile = group_id(1) * gradient_groups + group_id(0);                                         \
                                                                                                                      \
		if (group_id(0) >= gradient_groups)                                                                   \
			input_gradient(group_id(0) - gradient_groups, group_id(1), dy, w, dx, rows, in,                \
				       units, units, 1, 1, group_rows, dx_epilogue, 0, mask, 0, scale, 0, 0, 0, 0, 0, \
				       0);                                                                            \
		else if (tile * 8 < in || (bias_gradient && (tile - 1) * 8 < in))                                     \
			weight_gradient(tile, 0, x, dy, dw, in, units, rows, 1, in, 0, 8, dw_epilogue, 0, 0,           \
				       bias_gradient, 1, 0, 0, 0, 0, 0, 0);                                           \
	}

BACKWARD_SINGLE(dense_backward_6x64, gemm_packed_6x64_group)
BACKWARD_SINGLE(dense_backward_8x32, gemm_packed_8x32_group)
BACKWARD_SINGLE(dense_backward_8x16, gemm_packed_8x16_group)

/* out [columns, rows] = in [rows, columns] transposed. A group is one work-item, which transposes a tile of 16 x 16:
 * groups (ceil(rows / 16), ceil(columns / 16)). The kernel reads no bytes after the end of `in`. */
SINGLE gemm_transpose(GROUP_ID __global const stored *in, __global stored *out, int rows, int columns)
{
	const int r0 = group_id(0) * 16, c0 = group_id(1) * 16;

	if (r0 + 16 <= rows && c0 + 16 <= columns) {
		transpose_tile(in + (size_t)r0 * columns + c0, columns, 15, out + (size_t)c0 * rows + r0, rows);
		return;
	}
	for (int c = c0; c < min(c0 + 16, columns); c++)
		for (int r = r0; r < min(r0 + 16, rows); r++)
			store(load((size_t)r * columns + c, in), (size_t)c * rows + r, out);
}

#endif

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

/* gemm.c has the same numbers. For 64 columns the panels are 128 KiB and the sums at most 264 KiB: both fit a second-
 * level cache. */
#define PANELS       2
#define PACKED_TERMS 256
#define PACKED_ROWS  528 /* most rows of a group with partial sums; a multiple of the rows of every tile */

#define PAIRS_LOW(a, b)                                                                                       \
	(float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define PAIRS_HIGH(a, b)                                                                                      \
	(float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)
#define PAIRS(x, y, a, b, low, high)                                                                          \
	const float16 y##low = PAIRS_LOW(x##a, x##b), y##high = PAIRS_HIGH(x##a, x##b);
/* Applied four times, RIFFLE transposes 16 x 16: each time, numbers of rows r and r + 8 become neighbours. */
#define RIFFLE(x, y)                                                                                          \
	PAIRS(x, y, 0, 8, 0, 1) PAIRS(x, y, 1, 9, 2, 3) PAIRS(x, y, 2, 10, 4, 5) PAIRS(x, y, 3, 11, 6, 7)     \
	PAIRS(x, y, 4, 12, 8, 9) PAIRS(x, y, 5, 13, 10, 11) PAIRS(x, y, 6, 14, 12, 13) PAIRS(x, y, 7, 15, 14, 15)
#define SIXTEEN(X)    EIGHT(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define FROM_ROW(r)   const float16 x##r = load16(0, from + min(r, last) * stride);
#define TO_PANEL(r)   put16(t##r, 0, to + r * to_stride);
#define TO_STORED(r)  store16(t##r, 0, to + r * to_stride);

/* Transposes 16 x 16 numbers of `from` into `to`. `last` is the last row of `from`; it is read again instead of rows
 * after it. */
#define TRANSPOSE_TILE(name, target, TO)                                                                      \
	void name(__global const stored *from, size_t stride, int last, target *to, size_t to_stride)         \
	{                                                                                                     \
		SIXTEEN(FROM_ROW) RIFFLE(x, y) RIFFLE(y, z) RIFFLE(z, s) RIFFLE(s, t) SIXTEEN(TO)             \
	}
TRANSPOSE_TILE(transpose_into_panel, __private float, TO_PANEL)
TRANSPOSE_TILE(transpose_tile, __global stored, TO_STORED)

/* Copies rows k0 ... k0 + terms of B, from column j0 to column N - 1 at most, into panels [count, PACKED_TERMS, 16 *
 * vectors]. Nobody uses the numbers of a panel after column N - 1. */
void pack_panels(__global const stored *B, int N, int K, int b_transposed, int k0, int terms, int j0, int vectors,
		 int count, float *panels)
{
	const int columns = 16 * vectors, end = min(N - j0, count * columns);

	for (int k = 0; !b_transposed && k < terms; k++)
		for (int j = 0; j < end; j += 16)
			put16(load16(0, B + (size_t)(k0 + k) * N + j0 + j), 0,
				 panels + (j / columns * PACKED_TERMS + k) * columns + j % columns);
	for (int j = 0; b_transposed && j < end; j += 16)
		for (int k = 0; k < terms; k += 16)
			transpose_into_panel(B + (size_t)(j0 + j) * K + k0 + k, K, min(15, N - 1 - j0 - j),
					     panels + (j / columns * PACKED_TERMS + k) * columns + j % columns, columns);
}

#define PANEL1                const float16 b0 = get16(0, b);
#define PANEL2                PANEL1 const float16 b1 = get16(1, b);
#define PANEL4                PANEL2 const float16 b2 = get16(2, b), b3 = get16(3, b);
#define SUMS(r, v, vectors)   c##r##_##v = get16(vectors * r + v, from);
#define SUMS1(r)              SUMS(r, 0, 1)
#define SUMS2(r)              SUMS(r, 0, 2) SUMS(r, 1, 2)
#define SUMS4(r)              SUMS(r, 0, 4) SUMS(r, 1, 4) SUMS(r, 2, 4) SUMS(r, 3, 4)
#define OUT(r, v, vectors)    put16(c##r##_##v, vectors * r + v, to);
#define OUT1(r)               OUT(r, 0, 1)
#define OUT2(r)               OUT(r, 0, 2) OUT(r, 1, 2)
#define OUT4(r)               OUT(r, 0, 4) OUT(r, 1, 4) OUT(r, 2, 4) OUT(r, 3, 4)

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

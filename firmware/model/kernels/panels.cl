/* SPDX-License-Identifier: Apache-2.0 */
#ifdef CPU_DEVICE
/*
 * Panels: columns of a matrix B that a group of a CPU device packs into private memory, for products and convolutions
 * (gemm_packed.cl, conv_packed.cl), and the macros that read and write a panel and the sums of a tile. In a panel,
 * neighbouring rows do not share a cache set.
 */

/* plan/gemm.c has the same numbers. For 64 columns the panels are 128 KiB and the sums at most 264 KiB: both fit a second-
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

/* A CPU with 16 registers of 8 floats holds the sums of a tile for one vector at a time. So a tile then takes its vectors one after
 * the other, which changes no sum. */
#ifndef __AVX512F__
#define NARROW_TILES
#endif
#define NARROW_SUMS(r)        c##r##_0 = get16(TILE_VECTORS * r + v, from);
#define NARROW_OUT(r)         put16(c##r##_0, TILE_VECTORS * r + v, to);
#define NARROW_PUT(r)         store16(c##r##_0, v, c + (size_t)r * N);

#endif

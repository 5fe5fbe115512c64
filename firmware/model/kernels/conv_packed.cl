/* SPDX-License-Identifier: Apache-2.0 */
#ifdef CPU_DEVICE
/*
 * Convolution on CPU devices, window g (window.cl), of windows that conv_winograd.cl does not compute:
 *   C [M, N] = epilogue(sum over taps t and channels k of A[source(i, t)][k] * B[t][k][j])
 * A [images, in, K], B [taps, K, N] or, with b_transposed, [taps in reverse order, N, K], C [images, out, N], M = images *
 * positions. This is a product of gemm_packed.cl that gathers the rows of A separately for each tap; instead of padding
 * it reads `zeros` [width of the window, K]. Work-groups, panels, tiles, edges and epilogue are those of gemm_packed.cl. A panel has as many
 * whole taps as PACKED_TERMS rows can hold, each in a multiple of 16 rows; of a tap with more channels a part. Of few
 * channels, each tap has only its own rows, and a tile takes the taps of a line at once where none is padding on the left
 * or on the right.
 *
 * Reduction class: each sum runs over taps, then channels, in order, with one fma per term, for every size of tile;
 * taps that are padding for a whole tile are left out. Reference: reference() in layers/conv.c. Tolerance: taps * K *
 * 2^-24 of the sum of absolute products.
 */

/* The part of a sum that is computed with one packing of B: channels k ... k + terms - 1 of the taps first ... last - 1,
 * which are `depth` rows of a panel apart. */
struct conv_part {
	int first, last, k, terms, depth;
	bool lines; /* the taps of a line are neighbours in a panel and, inside an image, in A */
};

/* The position of row r of a tile: of a line of an image, the column c; then goes on to that of the next row. */
#define POSITION(r)                                                                                      \
	const int c##r = c, line##r = line;                                                              \
	__global const stored *image##r = image;                                                         \
	if (i0 + r + 1 < M && ++c == g->out[1]) {                                                        \
		c = 0;                                                                                   \
		if (++line == g->out[0]) {                                                               \
			line = 0;                                                                        \
			image += (size_t)g->in[0] * g->in[1] * K;                                        \
		}                                                                                        \
	}
#define POINT(r)                                                                                         \
	const int y##r = window_source(g, 0, line##r, kh), x##r = window_source(g, 1, c##r, kw);         \
	__global const stored *p##r =                                                                    \
		y##r < 0 || x##r < 0 ? zeros : image##r + ((size_t)y##r * g->in[1] + x##r) * K;
#define ANY_POINT(r) any |= p##r != zeros;
#define WHOLE_LINE(r) whole &= x##r >= 0 && x##r + g->size[1] <= g->in[1];
#define POINT_STEP1(r) { const float16 x = load(k, p##r); TERM(r, 0) }
#define POINT_STEP2(r) { const float16 x = load(k, p##r); TERM(r, 0) TERM(r, 1) }
#define POINT_STEP4(r) { const float16 x = load(k, p##r); TERM(r, 0) TERM(r, 1) TERM(r, 2) TERM(r, 3) }

/* Packs a part of B, from column j0 on, into `count` panels. */
void conv_pack(__global const stored *B, int N, int K, int b_transposed, int taps, const struct conv_part *part, int j0,
	       int vectors, int count, float *panels)
{
	for (int t = part->first; t < part->last; t++)
		pack_panels(B + (size_t)(b_transposed ? taps - 1 - t : t) * K * N, N, K, b_transposed, part->k, part->terms, j0,
			    vectors, count, panels + (t - part->first) * part->depth * 16 * vectors);
}

#define CONV_KERNEL(name, group)                                                                                     \
	__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void name(                                    \
		GEMM_PARAMETERS, __global const struct window *g, __global const stored *zeros)               \
	{                                                                                                     \
		group(GEMM_GIVEN, g, zeros);                                                                  \
	}

/* Tiles of 64, 32 and 16 columns. */
#define PACKED       conv_packed_6x64
#define TILE_ROWS    6
#define TILE_VECTORS 4
#define EACH_ROW     SIX
#include "conv_packed_body.clh"
CONV_KERNEL(conv_packed_6x64, conv_packed_6x64_group)

#define PACKED       conv_packed_8x32
#define TILE_ROWS    8
#define TILE_VECTORS 2
#define EACH_ROW     EIGHT
#include "conv_packed_body.clh"
CONV_KERNEL(conv_packed_8x32, conv_packed_8x32_group)

#define PACKED       conv_packed_8x16
#define TILE_ROWS    8
#define TILE_VECTORS 1
#define EACH_ROW     EIGHT
#include "conv_packed_body.clh"
CONV_KERNEL(conv_packed_8x16, conv_packed_8x16_group)

#endif

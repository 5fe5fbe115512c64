/* SPDX-License-Identifier: Apache-2.0 */
#ifdef CPU_DEVICE
/*
 * Convolution 3x3 with stride 1 on CPU devices, by the algorithm of Winograd, F(2x2, 3x3) of Lavin and Gray (2015): a
 * quad is the 2 x 2 positions that begin at an even row and an even column of C, and needs 16 products a channel and
 * filter instead of 36. For the patch d [4, 4] of A that a quad covers and the kernel g [3, 3]
 *   quad = P^T ((Q^T d Q) * (R g R^T)) P, where * multiplies number by number
 *   Q^T = 1 0 -1 0, 0 1 1 0, 0 -1 1 0, 0 1 0 -1;  R = 1 0 0, 1/2 1/2 1/2, 1/2 -1/2 1/2, 0 0 1;  P^T = 1 1 1 0, 0 1 -1 -1
 * and the products are summed over the channels before P is applied. So there are 16 products of matrices [quads, K] x
 * [K, N]. Parameters, edges and epilogue are those of conv_packed.cl, but B holds floats: the kernels that
 * winograd_kernels has transformed. K is a multiple of 16.
 *
 * Work-group: one work-item, which computes group_rows quads of C, in row-major order over all images, in the columns of
 * a tile; groups (ceil(quads / group_rows), ceil(N / tile columns)). It transforms QUAD_TERMS channels of all its
 * patches into private memory, adds their products to the sums, then takes the next channels.
 *
 * Reduction class: each sum runs over the channels in order with one fma per term; the numbers of a quad depend on
 * nothing but its patch and the kernels, for every size of tile and every number of rows. Reference: reference() in
 * layers/conv.c. Tolerance: (K + 8) * 2^-24 of the sum of all absolute products of the patch and the kernel, not only of
 * those of one position.
 */

/* plan/gemm.c and plan/conv.c have the same numbers. With 64 columns patches and sums have 192 KiB each: together they
 * fit a second-level cache. */
#define QUAD_ROWS  48 /* most quads of a group; a multiple of the rows of every tile */
#define QUAD_TERMS 64
#define QUAD_PARTS 16 /* products of matrices */

#define QUAD_STEP2(r) { const float16 x = a[o##r]; TERM(r, 0) TERM(r, 1) }
#define QUAD_STEP4(r) { const float16 x = a[o##r]; TERM(r, 0) TERM(r, 1) TERM(r, 2) TERM(r, 3) }

/* The place of a quad: the image, and row and column of its first position. */
struct quad {
	int image, y, x;
};

struct quad quad_at(int number, __global const struct window *g)
{
	const int across = (g->out[1] + 1) / 2, down = (g->out[0] + 1) / 2;

	return (struct quad){ number / across / down, number / across % down * 2, number % across * 2 };
}

#define PATCH_READ(y, x)                                                                                         \
	const float16 d##y##x = load16(0, (line[y] && column[x] >= 0 ? line[y] + column[x] : zeros) + k);
#define PATCH_LINE(y)    PATCH_READ(y, 0) PATCH_READ(y, 1) PATCH_READ(y, 2) PATCH_READ(y, 3)
#define PATCH_COLUMN(x)                                                                                          \
	const float16 e0##x = d0##x - d2##x, e1##x = d1##x + d2##x, e2##x = d2##x - d1##x, e3##x = d1##x - d3##x;
#define PATCH_PUT(y)                                                                                             \
	put16(e##y##0 - e##y##2, 0, to + (4 * y) * step);                                                        \
	put16(e##y##1 + e##y##2, 0, to + (4 * y + 1) * step);                                                    \
	put16(e##y##2 - e##y##1, 0, to + (4 * y + 2) * step);                                                    \
	put16(e##y##1 - e##y##3, 0, to + (4 * y + 3) * step);

/* Writes Q^T d Q of a quad, for channels k0 ... k0 + terms - 1, to its row `patch` of the patches [QUAD_PARTS,
 * QUAD_ROWS, QUAD_TERMS]. */
void transform_patch(__global const stored *A, __global const struct window *g, __global const stored *zeros,
		     struct quad quad, int K, int k0, int terms, float *patch)
{
	const size_t step = QUAD_ROWS * QUAD_TERMS;
	__global const stored *line[4];
	long column[4];

	for (int i = 0; i < 4; i++) {
		const int y = window_source(g, 0, quad.y, i), x = window_source(g, 1, quad.x, i);

		line[i] = y < 0 ? 0 : A + ((size_t)quad.image * g->in[0] + y) * g->in[1] * K;
		column[i] = x < 0 ? -1 : (long)x * K;
	}
	for (int k = k0; k < k0 + terms; k += 16) {
		float *to = patch + k - k0;

		PATCH_LINE(0) PATCH_LINE(1) PATCH_LINE(2) PATCH_LINE(3)
		PATCH_COLUMN(0) PATCH_COLUMN(1) PATCH_COLUMN(2) PATCH_COLUMN(3)
		PATCH_PUT(0) PATCH_PUT(1) PATCH_PUT(2) PATCH_PUT(3)
	}
}

/* Makes 4 numbers of 3: R (a, b, c). */
#define KERNEL_FOUR(f, a, b, c)                                                                                  \
	const float16 f##0 = a, f##1 = ((a + c) + b) * 0.5f, f##2 = ((a + c) - b) * 0.5f, f##3 = c;
#define KERNEL_READ(t)   const float16 g##t = get16(0, from + t * 16 * columns);
#define KERNEL_PUT(y)                                                                                            \
	put16(f##y##0, 0, to + (4 * y) * step);                                                                  \
	put16(f##y##1, 0, to + (4 * y + 1) * step);                                                              \
	put16(f##y##2, 0, to + (4 * y + 2) * step);                                                              \
	put16(f##y##3, 0, to + (4 * y + 3) * step);

/* kernels [ceil(N / columns), QUAD_PARTS, K, columns] = R g R^T of B, whose layout is that of conv_packed.cl; columns =
 * 16 * vectors. Nobody uses the numbers after column N - 1. A group is one work-item, which transforms 16 channels of a
 * tile of columns: groups (K / 16, ceil(N / columns)). */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void winograd_kernels(
	__global const stored *B, __global float *kernels, int N, int K, int b_transposed, int vectors)
{
	const int k = get_group_id(0) * 16, columns = 16 * vectors, j0 = get_group_id(1) * columns;
	const size_t step = (size_t)K * columns;
	float taps[9 * 16 * 64] __attribute__((aligned(64)));

	for (int t = 0; t < 9; t++)
		pack_panels(B + (size_t)(b_transposed ? 8 - t : t) * K * N, N, K, b_transposed, k, 16, j0, vectors, 1,
			    taps + t * 16 * columns);
	for (int j = 0; j < 16 * columns; j += 16) {
		const float *from = taps + j;
		__global float *to = kernels + get_group_id(1) * QUAD_PARTS * step + k * columns + j;

		EIGHT(KERNEL_READ) KERNEL_READ(8)
		KERNEL_FOUR(h0, g0, g3, g6)
		KERNEL_FOUR(h1, g1, g4, g7)
		KERNEL_FOUR(h2, g2, g5, g8)
		KERNEL_FOUR(f0, h00, h10, h20)
		KERNEL_FOUR(f1, h01, h11, h21)
		KERNEL_FOUR(f2, h02, h12, h22)
		KERNEL_FOUR(f3, h03, h13, h23)
		KERNEL_PUT(0) KERNEL_PUT(1) KERNEL_PUT(2) KERNEL_PUT(3)
	}
}

#define QUAD_READ(y, x)  const float16 s##y##x = get16(0, from + (4 * y + x) * step);
#define QUAD_COLUMN(x)                                                                                           \
	QUAD_READ(0, x) QUAD_READ(1, x) QUAD_READ(2, x) QUAD_READ(3, x)                                          \
	const float16 t0##x = (s0##x + s1##x) + s2##x, t1##x = (s1##x - s2##x) - s3##x;
#define QUAD_LINE(y)                                                                                             \
	put16((t##y##0 + t##y##1) + t##y##2, v, quad + 2 * y * 16 * vectors);                                    \
	put16((t##y##1 - t##y##2) - t##y##3, v, quad + (2 * y + 1) * 16 * vectors);

/* Writes P^T s P of a quad to quad [4, 16 * vectors]; `step` is the distance of its 16 sums s. */
void finish_quad(const float *sums, int step, int vectors, float *quad)
{
	for (int v = 0; v < vectors; v++) {
		const float *from = sums + 16 * v;

		QUAD_COLUMN(0) QUAD_COLUMN(1) QUAD_COLUMN(2) QUAD_COLUMN(3)
		QUAD_LINE(0) QUAD_LINE(1)
	}
}

#define WINOGRAD_KERNEL(name, group)                                                                                    \
	__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void name(                                       \
		GEMM_PARAMETERS, __global const struct window *g, __global const stored *zeros)                  \
	{                                                                                                        \
		group(GEMM_GIVEN, g, zeros);                                                                     \
	}

/* Tiles of 64 and 32 columns. */
#define PACKED       conv_winograd_6x64
#define TILE_ROWS    6
#define TILE_VECTORS 4
#define EACH_ROW     SIX
#include "conv_winograd_body.clh"
WINOGRAD_KERNEL(conv_winograd_6x64, conv_winograd_6x64_group)

#define PACKED       conv_winograd_8x32
#define TILE_ROWS    8
#define TILE_VECTORS 2
#define EACH_ROW     EIGHT
#include "conv_winograd_body.clh"
WINOGRAD_KERNEL(conv_winograd_8x32, conv_winograd_8x32_group)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution on CPU devices, window g (window.cl):
 *   C [M, N] = epilogue(sum over taps t and channels k of A[source(i, t)][k] * B[t][k][j])
 * A [images, in, K], B [taps, K, N], C [images, out, N], M = images * positions. This is a GEMM that gathers the rows
 * of A separately for each tap; instead of padding it reads `zeros` [K]. Work-groups, tiles, edges and epilogue are
 * those of gemm.cl.
 *
 * Reduction class: each sum runs over taps, then channels, in order, with one fma per term, for every size of tile;
 * taps that are padding for a whole tile are left out. Reference: reference() in layers/conv.c. Tolerance: taps * K *
 * 2^-24 of the sum of absolute products.
 */

#define POSITION(r)                                                          \
	const int n##r = min(i0 + r, M - 1), c##r = n##r % g->out[1];        \
	const int line##r = n##r / g->out[1] % g->out[0];                       \
	__global const stored *image##r = A + n##r / g->out[1] / g->out[0] * image;
#define ROW(r)     const int y##r = window_source(g, 0, line##r, kh);
#define ANY_ROW(r) any |= y##r >= 0;
#define POINT(r)                                                             \
	const int x##r = window_source(g, 1, c##r, kw);                      \
	__global const stored *p##r =                                        \
		y##r < 0 || x##r < 0 ? zeros : image##r + ((size_t)y##r * g->in[1] + x##r) * K;
#define POINT_STEP1(r) { const float16 x = load(k, p##r); TERM(r, 0) }
#define POINT_STEP2(r) { const float16 x = load(k, p##r); TERM(r, 0) TERM(r, 1) }
#define POINT_STEP4(r) { const float16 x = load(k, p##r); TERM(r, 0) TERM(r, 1) TERM(r, 2) TERM(r, 3) }

#define CONV(name, rows, vectors, ALL, ZERO, LOAD, STEP, STORE, C_PUT)                                          \
	__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void name(                                      \
		GEMM_PARAMETERS, __global const struct window *g, __global const stored *zeros)                \
	{                                                                                                      \
		const int i0 = get_group_id(0) * rows, j0 = get_group_id(1) * 16 * vectors;                    \
		const size_t image = (size_t)g->in[0] * g->in[1] * K;                                          \
		float tile[rows * 16 * vectors] __attribute__((aligned(64)));                                  \
                                                                                                               \
		ALL(POSITION) ALL(ZERO) for (int kh = 0; kh < g->size[0]; kh++)                                \
		{                                                                                              \
			bool any = false;                                                                      \
                                                                                                               \
			ALL(ROW) ALL(ANY_ROW) for (int kw = 0; any && kw < g->size[1]; kw++)                   \
			{                                                                                      \
				__global const stored *b = B + (size_t)(kh * g->size[1] + kw) * K * N + j0;    \
                                                                                                               \
				ALL(POINT) for (int k = 0; k < K; k++)                                         \
				{                                                                              \
					LOAD ALL(STEP) b += N;                                                 \
				}                                                                              \
			}                                                                                      \
		}                                                                                              \
		if (!epilogue && i0 + rows <= M && j0 + 16 * vectors <= N) {                                   \
			__global stored *c = C + (size_t)i0 * N + j0;                                          \
                                                                                                               \
			ALL(C_PUT) return;                                                                     \
		}                                                                                              \
		ALL(STORE) finish_tile(tile, rows, vectors, i0, j0, C, M, N, epilogue, bias, mask, scale,      \
				       threshold, layer, step, first_row, key_low, key_high);                  \
	}

CONV(conv_6x64, 6, 4, SIX, ZERO4, LOAD4, POINT_STEP4, STORE4, PUT4)
CONV(conv_8x32, 8, 2, EIGHT, ZERO2, LOAD2, POINT_STEP2, STORE2, PUT2)
CONV(conv_8x16, 8, 1, EIGHT, ZERO1, LOAD1, POINT_STEP1, STORE1, PUT1)

/*
 * Gradients of kernel and bias, on CPU devices:
 *   partial[chunk][t][k][j] = sum over the chunk's images and positions p of X[source(p, t)][k] * DY[p][j]
 *   partial[chunk][taps][0][j] = sum over the chunk's images and positions p of DY[p][j]
 * partial [chunks, taps * tap_rows + 1, columns]: of the tap_rows rows of a tap only the first K are read, and of the
 * columns only the first N. Work-group: one work-item, which computes one tap of one chunk for the columns of a tile:
 * groups (chunks * (taps + 1), columns / tile columns). BLOCK_POSITIONS positions at a time stay in the first-level
 * cache while all channels pass over them.
 *
 * Reduction class: images, rows, columns in order with one fma per term, then conv_sum; the same on every device.
 * Reference: that of the convolution. Tolerance: positions * images of a chunk * 2^-24 of the sum of absolute products.
 */
#define BLOCK_POSITIONS 64

#define GET(r, v) float16 c##r##_##v = get16(v, c + (size_t)r * N);
#define GET1(r)   GET(r, 0)
#define GET2(r)   GET1(r) GET(r, 1)
#define GET4(r)   GET2(r) GET(r, 2) GET(r, 3)
#define SAVE(r, v) put16(c##r##_##v, v, c + (size_t)r * N);
#define SAVE1(r)   SAVE(r, 0)
#define SAVE2(r)   SAVE(r, 0) SAVE(r, 1)
#define SAVE4(r)   SAVE(r, 0) SAVE(r, 1) SAVE(r, 2) SAVE(r, 3)
#define CHANNEL(r) const size_t o##r = min(k0 + r, channels - 1);

void position_sums(int vectors, __global const stored *dy, size_t positions, int filters, __global float *sums)
{
	for (int v = 0; v < vectors; v++) {
		float16 total = 0;

		for (size_t p = 0; p < positions; p++)
			total += load16(v, dy + p * filters);
		put16(total, v, sums);
	}
}

#define CONV_KERNEL(name, rows, vectors, ALL, C_GET, LOAD, STEP, C_PUT)                                         \
	__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void name(                                      \
		__global const stored *X, __global const stored *DY, __global float *partial, int images,      \
		int chunk_images, int channels, int filters, int tap_rows, __global const struct window *g)    \
	{                                                                                                      \
		const int taps = g->size[0] * g->size[1], t = get_group_id(0) % (taps + 1);                    \
		const int chunk = get_group_id(0) / (taps + 1), j0 = get_group_id(1) * 16 * vectors;           \
		const int first = chunk * chunk_images, last = min(images, first + chunk_images);              \
		const int N = get_num_groups(1) * 16 * vectors, kh = t / g->size[1], kw = t % g->size[1];      \
		const int block = max(1, BLOCK_POSITIONS / g->out[1]);                                         \
		const size_t positions = (size_t)g->out[0] * g->out[1];                                        \
		__global float *own = partial + ((size_t)chunk * (taps * tap_rows + 1) + t * tap_rows) * N + j0; \
		int w0 = 0, w1 = g->out[1];                                                                    \
                                                                                                               \
		if (t == taps) {                                                                               \
			position_sums(vectors, DY + first * positions * filters + j0,                          \
				      max(last - first, 0) * positions, filters, own);                         \
			return;                                                                                \
		}                                                                                              \
		for (int r = 0; r < tap_rows; r++)                                                             \
			for (int v = 0; v < vectors; v++)                                                      \
				put16((float16)(0), v, own + (size_t)r * N);                                \
		while (w0 < w1 && window_source(g, 1, w0, kw) < 0)                                             \
			w0++;                                                                                  \
		while (w0 < w1 && window_source(g, 1, w1 - 1, kw) < 0)                                         \
			w1--;                                                                                  \
		for (int n = first; w0 < w1 && n < last; n++)                                                  \
			for (int h0 = 0; h0 < g->out[0]; h0 += block)                                          \
				for (int k0 = 0; k0 < channels; k0 += rows) {                                  \
					__global float *c = own + (size_t)k0 * N;                              \
                                                                                                               \
					ALL(CHANNEL) ALL(C_GET) for (int h = h0; h < min(h0 + block, g->out[0]); h++) \
					{                                                                      \
						const int y = window_source(g, 0, h, kh);                      \
						const int x0 = window_source(g, 1, w0, kw);                    \
						__global const stored *a =                                     \
							X + (((size_t)n * g->in[0] + y) * g->in[1] + x0) * channels; \
						__global const stored *b =                                     \
							DY + (n * positions + (size_t)h * g->out[1] + w0) * filters + j0; \
                                                                                                               \
						for (int w = w0; y >= 0 && w < w1; w++) {                      \
							LOAD ALL(STEP) a += g->stride[1] * channels;           \
							b += filters;                                          \
						}                                                              \
					}                                                                      \
					ALL(C_PUT)                                                             \
				}                                                                              \
	}

CONV_KERNEL(conv_kernel_6x64, 6, 4, SIX, GET4, LOAD4, STEP4, SAVE4)
CONV_KERNEL(conv_kernel_8x32, 8, 2, EIGHT, GET2, LOAD2, STEP2, SAVE2)
CONV_KERNEL(conv_kernel_8x16, 8, 1, EIGHT, GET1, LOAD1, STEP1, SAVE1)

/* dkernel [taps, channels, filters] and dbias [filters] (or null) = sum of the partial sums of all chunks, in the order
 * of the chunks; each item computes one number. Tolerance: chunks * 2^-24 of the sum of absolute partial sums. */
ELEMENTS conv_sum(__global const float *partial, __global float *dkernel, __global float *dbias, int chunks, int taps,
		  int channels, int filters, int tap_rows, int columns)
{
	const size_t i = get_global_id(0), row = i / filters, kernel_rows = (size_t)taps * channels;
	const size_t at = row < kernel_rows ? row / channels * tap_rows + row % channels : (size_t)taps * tap_rows;
	const size_t size = ((size_t)taps * tap_rows + 1) * columns;
	float sum = 0;

	if (row > kernel_rows || (row == kernel_rows && !dbias))
		return;
	for (int c = 0; c < chunks; c++)
		sum += partial[c * size + at * columns + i % filters];
	if (row < kernel_rows)
		dkernel[i] = sum;
	else
		dbias[i % filters] = sum;
}

/* out [taps, filters, channels] = in [taps, channels, filters] with the taps in reverse order, channels and filters
 * exchanged. */
ELEMENTS conv_flip(__global const float *in, __global stored *out, int taps, int channels, int filters)
{
	const size_t i = get_global_id(0), size = (size_t)channels * filters;
	const size_t t = i / size, f = i % size / channels, c = i % channels;

	if (t < (size_t)taps)
		store(in[(taps - 1 - t) * size + c * filters + f], i, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of kernel and bias, on CPU devices:
 *   partial[chunk][t][k][j] = sum over the chunk's images and positions p of X[source(p, t)][k] * DY[p][j]
 *   partial[chunk][taps][0][j] = sum over the chunk's images and positions p of DY[p][j]
 * A pixel of X has `pixel` numbers, of which a tap may read more than one pixel: K = channels >= pixel.
 * partial [chunks, taps * tap_rows + 1, columns]: of the tap_rows rows of a tap only the first K are read, and of the
 * columns only the first N. Work-group: one work-item, which computes one tap of one chunk for the columns of a tile:
 * groups (chunks * (taps + 1), columns / tile columns). BLOCK_POSITIONS positions at a time stay in the first-level
 * cache while all channels pass over them.
 *
 * Reduction class: images, rows, columns in order with one fma per term, then conv_sum.
 * Reference: reference() in layers/conv.c. Tolerance: positions * images of a chunk * 2^-24 of the sum of absolute products.
 */
#ifdef CPU_DEVICE
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
		int chunk_images, int channels, int filters, int tap_rows, __global const struct window *g,    \
		int pixel)                                                                                     \
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
							X + (((size_t)n * g->in[0] + y) * g->in[1] + x0) * pixel; \
						__global const stored *b =                                     \
							DY + (n * positions + (size_t)h * g->out[1] + w0) * filters + j0; \
                                                                                                               \
						for (int w = w0; y >= 0 && w < w1; w++) {                      \
							LOAD ALL(STEP) a += g->stride[1] * pixel;              \
							b += filters;                                          \
						}                                                              \
					}                                                                      \
					ALL(C_PUT)                                                             \
				}                                                                              \
	}

CONV_KERNEL(conv_kernel_6x64, 6, 4, SIX, GET4, LOAD4, STEP4, SAVE4)
CONV_KERNEL(conv_kernel_8x32, 8, 2, EIGHT, GET2, LOAD2, STEP2, SAVE2)
CONV_KERNEL(conv_kernel_8x16, 8, 1, EIGHT, GET1, LOAD1, STEP1, SAVE1)

/* conv_sum for CPU devices: a group is one work-item, which computes a row of dkernel, or dbias. Groups
 * (taps * channels + 1, 1). */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void conv_sum_lines(
	__global const float *partial, __global float *dkernel, __global float *dbias, int chunks, int taps, int channels,
	int filters, int tap_rows, int columns, uint size)
{
	const int row = get_group_id(0), kernel_rows = taps * channels;
	const size_t at = row < kernel_rows ? row / channels * tap_rows + row % channels : (size_t)taps * tap_rows;
	__global float *out = row < kernel_rows ? dkernel + (size_t)row * filters : dbias;

	for (int j = 0; out && j < filters; j += 16) {
		float16 sum = 0;

		for (int c = 0; c < chunks; c++)
			sum += get16(0, partial + (size_t)c * size + at * columns + j);
		if (filters - j >= 16)
			put16(sum, 0, out + j);
		else
			store_lanes(sum, filters - j, out + j);
	}
}

#endif

/* dkernel [taps, channels, filters] and dbias [filters] (or null) = sum of the partial sums of all chunks, each of `size`
 * numbers. A group computes SUM_NUMBERS numbers, in SUM_LANES lanes: a lane adds every SUM_LANES-th chunk in order, then the
 * lanes are added in order. Tolerance: chunks * 2^-24 of the sum of absolute partial sums. plan/partials.c has the
 * same SUM_NUMBERS. */
#define SUM_NUMBERS 32
#define SUM_LANES   8

__kernel __attribute__((reqd_work_group_size(SUM_NUMBERS *SUM_LANES, 1, 1))) void conv_sum(
	__global const float *partial, __global float *dkernel, __global float *dbias, int chunks, int taps, int channels,
	int filters, int tap_rows, int columns, uint size)
{
	__local float lanes[SUM_LANES][SUM_NUMBERS];
	const int own = get_local_id(0) % SUM_NUMBERS, lane = get_local_id(0) / SUM_NUMBERS;
	const size_t i = (size_t)get_group_id(0) * SUM_NUMBERS + own, row = i / filters;
	const size_t kernel_rows = (size_t)taps * channels;
	const size_t at = row < kernel_rows ? row / channels * tap_rows + row % channels : (size_t)taps * tap_rows;
	const bool is_used = row < kernel_rows || (row == kernel_rows && dbias);
	float sum = 0;

#pragma unroll 8
	for (int c = lane; c < (is_used ? chunks : 0); c += SUM_LANES)
		sum += partial[(size_t)c * size + at * columns + i % filters];
	lanes[lane][own] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane || !is_used)
		return;
	for (int l = 1; l < SUM_LANES; l++)
		sum += lanes[l][own];
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

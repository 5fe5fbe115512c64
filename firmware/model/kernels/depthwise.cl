/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution: filter f reads channel f / multiplier, kernel [taps, channels * multiplier]. Two families of
 * kernels have the same bits:
 *   one work-item for each number: for every device and every multiplier
 *   lines: for CPU devices and multiplier 1; a work-item works on vectors of 16 channels
 *
 * Reduction class: every sum has the order that is written at the kernel of one work-item for each number, with one fma
 * per term; taps that are padding are left out. Reference: reference() in layers/conv.c. Tolerance: taps * 2^-24 of the
 * sum of absolute products, for the gradient of the kernel positions * images of a chunk * 2^-24.
 */

/* ---- One work-item for each number ---- */

/* Y [rows, out, filters]; each item computes one number, the sum over the taps in order. */
ELEMENTS depthwise(__global const stored *X, __global const float *kernel_of, __global stored *Y, int add, int rows,
		   int channels, int multiplier, __global const struct window *g)
{
	const uint i = get_global_id(0), filters = channels * multiplier, position = i / filters, f = i % filters;
	const uint n = position / g->out[1] / g->out[0];
	float sum = 0;

	if (n >= (uint)rows)
		return;
	for (int kh = 0; kh < g->size[0]; kh++)
		for (int kw = 0; kw < g->size[1]; kw++) {
			const int y = window_source(g, 0, position / g->out[1] % g->out[0], kh);
			const int x = window_source(g, 1, position % g->out[1], kw);

			if (y >= 0 && x >= 0)
				sum = fma(load((((size_t)n * g->in[0] + y) * g->in[1] + x) * channels + f / multiplier, X),
					  kernel_of[(kh * g->size[1] + kw) * filters + f], sum);
		}
	store(sum + (add ? load(i, Y) : 0), i, Y);
}

/* DX [rows, out, channels] (+)= dY through the mirrored window g. Each sum runs over the taps, from the last to the
 * first, then over the filters of the channel. */
ELEMENTS depthwise_input(__global const stored *DY, __global const float *kernel_of, __global stored *DX, int add,
			 int rows, int channels, int multiplier, __global const struct window *g)
{
	const uint i = get_global_id(0), position = i / channels, c = i % channels, filters = channels * multiplier;
	const uint n = position / g->out[1] / g->out[0];
	const int taps = g->size[0] * g->size[1];
	float sum = 0;

	if (n >= (uint)rows)
		return;
	for (int t = 0; t < taps; t++) {
		const int y = window_source(g, 0, position / g->out[1] % g->out[0], t / g->size[1]);
		const int x = window_source(g, 1, position % g->out[1], t % g->size[1]);
		const size_t from = (((size_t)n * g->in[0] + y) * g->in[1] + x) * filters + c * multiplier;

		for (int q = 0; y >= 0 && x >= 0 && q < multiplier; q++)
			sum = fma(load(from + q, DY), kernel_of[(taps - 1 - t) * filters + c * multiplier + q], sum);
	}
	store(sum + (add ? load(i, DX) : 0), i, DX);
}

/* partial [chunks, taps + 1, filters]: gradient of the kernel, and in the last row the sums of dY. Groups
 * (ceil((taps + 1) * filters / 64), chunks); each item computes one number. Sums run over images, rows, columns
 * in order; then conv_sum adds the chunks. */
ELEMENTS depthwise_kernel(__global const stored *X, __global const stored *DY, __global float *partial, int images,
			  int chunk_images, int channels, int multiplier, __global const struct window *g)
{
	const int i = get_global_id(0), filters = channels * multiplier, t = i / filters, f = i % filters;
	const int taps = g->size[0] * g->size[1], first = get_group_id(1) * chunk_images;
	float sum = 0;

	if (t > taps)
		return;
	for (int n = first; n < min(images, first + chunk_images); n++)
		for (int h = 0; h < g->out[0]; h++)
			for (int w = 0; w < g->out[1]; w++) {
				const float d = load((((size_t)n * g->out[0] + h) * g->out[1] + w) * filters + f, DY);
				const int y = window_source(g, 0, h, t / g->size[1]);
				const int x = window_source(g, 1, w, t % g->size[1]);

				if (t == taps)
					sum += d;
				else if (y >= 0 && x >= 0)
					sum = fma(load((((size_t)n * g->in[0] + y) * g->in[1] + x) * channels +
						    f / multiplier, X), d, sum);
			}
	partial[(size_t)get_group_id(1) * (taps + 1) * filters + i] = sum;
}

/* ---- Lines ---- */

#define DEPTHWISE_COLUMNS 4   /* positions of a block, inside the image */
#define DEPTHWISE_LINE    256 /* channels of a pass over a line: their kernel stays in the first-level cache */
#define DEPTHWISE_SPAN    64  /* channels of a block: at most four vectors; TENSOR_SLACK covers the reads behind the last */

/* The taps of a window that cover numbers of the image at one position, on one side: tap x, then each tap that is
 * apart[side] further; y taps in all. z is the index in the image that tap x covers; each further tap covers the index
 * that is dilation[side] further. Either apart or dilation is 1. */
int4 depthwise_taps(__global const struct window *g, int side, int out)
{
	const int dilation = g->dilation[side], apart = g->apart[side], at = out * g->stride[side] - g->before[side];
	int tap = at < 0 ? (dilation - at - 1) / dilation : 0, source = at + tap * dilation, count;

	tap += (apart - source % apart) % apart;
	source = (at + tap * dilation) / apart;
	count = min((g->size[side] - tap + apart - 1) / apart, (g->in[side] - source + dilation - 1) / dilation);
	return (int4)(tap, max(count, 0), source, 0);
}

/* Returns (begin, end) of the positions of a line at which the taps `first` ... `last` are all inside the image; apart
 * is 1. */
int2 depthwise_inside(__global const struct window *g, int first, int last)
{
	const int stride = g->stride[1], before = g->before[1] - first * g->dilation[1];
	const int room = g->in[1] - 1 + g->before[1] - last * g->dilation[1];
	const int begin = min(g->out[1], before > 0 ? (before + stride - 1) / stride : 0);

	return (int2)(begin, max(begin, room < 0 ? 0 : min(g->out[1], room / stride + 1)));
}

void depthwise_put(float16 sum, int channels, __global stored *out, int add)
{
	const float16 zero = 0;

	store_some(sum + (add ? load_some(channels, out) : zero), channels, out);
}

#define VECTORS1(X) X(0)
#define VECTORS2(X) X(0) X(1)
#define VECTORS4(X) X(0) X(1) X(2) X(3)
#define SUM_ZERO(v) float16 sum##v = 0;
#define SUM_TERM(v) sum##v = fma(load16(v, a), get16(v, k), sum##v);
#define SUM_PUT(v)  depthwise_put(sum##v, channels - 16 * v, out + 16 * v, add);

/* One position, for the vectors of a block of channels: `lines` and `points` are its taps on both sides. */
#define DEPTHWISE_POSITION(name, VECTORS)                                                                     \
	void name(__global const stored *image, __global const float *kernel_of, __global stored *out, int add, \
		  int4 lines, int4 points, int channels, int filters, int flipped, __global const struct window *g) \
	{                                                                                                     \
		const int taps = g->size[0] * g->size[1];                                                     \
		const long next = (long)g->dilation[1] * filters, step = (long)g->apart[1] * filters;         \
                                                                                                              \
		VECTORS(SUM_ZERO)                                                                             \
		for (int i = 0; i < lines.y; i++) {                                                           \
			const int t = (lines.x + i * g->apart[0]) * g->size[1] + points.x;                    \
			__global const stored *a =                                                            \
				image + ((size_t)(lines.z + i * g->dilation[0]) * g->in[1] + points.z) * filters; \
			__global const float *k = kernel_of + (size_t)(flipped ? taps - 1 - t : t) * filters; \
                                                                                                              \
			for (int j = 0; j < points.y; j++) {                                                  \
				VECTORS(SUM_TERM)                                                             \
				a += next;                                                                    \
				k += flipped ? -step : step;                                                  \
			}                                                                                     \
		}                                                                                             \
		VECTORS(SUM_PUT)                                                                              \
	}

DEPTHWISE_POSITION(depthwise_position1, VECTORS1)
DEPTHWISE_POSITION(depthwise_position2, VECTORS2)
DEPTHWISE_POSITION(depthwise_position4, VECTORS4)

#define BLOCK_PUT(p) depthwise_put(sum##p, channels, out + p * filters, add);

/* DEPTHWISE_COLUMNS positions of a line whose taps are all inside the image, for one vector of channels; apart is 1.
 * `x` is the index in the line that tap 0 of the first position covers. TERMS adds the taps of a line. */
#define DEPTHWISE_BLOCK(name, TERMS)                                                                          \
	void name(__global const stored *image, __global const float *kernel_of, __global stored *out, int add, \
		  int4 lines, int x, int channels, int filters, int flipped, __global const struct window *g) \
	{                                                                                                     \
		const size_t apart = (size_t)g->stride[1] * filters, next = (size_t)g->dilation[1] * filters; \
		const int taps = g->size[0] * g->size[1];                                                     \
		const long step = flipped ? -(long)filters : filters;                                         \
                                                                                                              \
		VECTORS4(SUM_ZERO)                                                                            \
		for (int i = 0; i < lines.y; i++) {                                                           \
			const int t = (lines.x + i) * g->size[1];                                             \
			__global const float *k = kernel_of + (size_t)(flipped ? taps - 1 - t : t) * filters; \
			__global const stored *a =                                                            \
				image + ((size_t)(lines.z + i * g->dilation[0]) * g->in[1] + x) * filters;    \
                                                                                                              \
			TERMS                                                                                 \
		}                                                                                             \
		VECTORS4(BLOCK_PUT)                                                                           \
	}

/* The taps of a line, one after the other, for any window. */
#define ANY_TERM(p) sum##p = fma(load16(0, a + p * apart), tap, sum##p);
#define ANY_TERMS                                             \
	for (int j = 0; j < g->size[1]; j++) {                \
		const float16 tap = get16(0, k);              \
                                                              \
		VECTORS4(ANY_TERM)                            \
		a += next;                                    \
		k += step;                                    \
	}

/* Three or five taps of a line, for stride 1 and dilation 1: neighbouring positions share what they read. */
#define TAP(j, x0, x1, x2, x3)                                \
	{                                                     \
		const float16 tap = get16(0, k + j * step);   \
                                                              \
		sum0 = fma(x0, tap, sum0);                    \
		sum1 = fma(x1, tap, sum1);                    \
		sum2 = fma(x2, tap, sum2);                    \
		sum3 = fma(x3, tap, sum3);                    \
	}
#define READ(i) const float16 x##i = load16(0, a + i * next);
#define THREE_TERMS                                           \
	READ(0) READ(1) READ(2) READ(3) READ(4) READ(5)       \
	TAP(0, x0, x1, x2, x3) TAP(1, x1, x2, x3, x4) TAP(2, x2, x3, x4, x5)
#define FIVE_TERMS                                            \
	THREE_TERMS READ(6) READ(7)                           \
	TAP(3, x3, x4, x5, x6) TAP(4, x4, x5, x6, x7)

DEPTHWISE_BLOCK(depthwise_block, ANY_TERMS)
DEPTHWISE_BLOCK(depthwise_block3, THREE_TERMS)
DEPTHWISE_BLOCK(depthwise_block5, FIVE_TERMS)

/* The blocks of a line from position `begin` to the last whole block before `end`. Returns the first position that is
 * left. If nothing is added to `line`, the last block may cover positions that another block has covered, too. */
int depthwise_blocks(__global const stored *image, __global const float *kernel_of, __global stored *line, int add,
		     int4 lines, int begin, int end, int channels, int filters, int flipped,
		     __global const struct window *g)
{
	const bool slides = g->stride[1] == 1 && g->dilation[1] == 1;
	const bool overlaps = !add && end - begin >= DEPTHWISE_COLUMNS;
	int w = begin;

	while (w + DEPTHWISE_COLUMNS <= end || (overlaps && w < end)) {
		const int at = min(w, end - DEPTHWISE_COLUMNS), x = at * g->stride[1] - g->before[1];

		for (int v = 0; v < min(channels, DEPTHWISE_LINE); v += 16) {
			__global stored *out = line + (size_t)at * filters + v;

			if (slides && g->size[1] == 3)
				depthwise_block3(image + v, kernel_of + v, out, add, lines, x, channels - v, filters, flipped, g);
			else if (slides && g->size[1] == 5)
				depthwise_block5(image + v, kernel_of + v, out, add, lines, x, channels - v, filters, flipped, g);
			else
				depthwise_block(image + v, kernel_of + v, out, add, lines, x, channels - v, filters, flipped, g);
		}
		w = at + DEPTHWISE_COLUMNS;
	}
	return w;
}

/* One position, for at most DEPTHWISE_SPAN channels. */
void depthwise_span(__global const stored *image, __global const float *kernel_of, __global stored *out, int add,
		    int4 lines, int4 points, int channels, int filters, int flipped, __global const struct window *g)
{
	if (channels > 32)
		depthwise_position4(image, kernel_of, out, add, lines, points, channels, filters, flipped, g);
	else if (channels > 16)
		depthwise_position2(image, kernel_of, out, add, lines, points, channels, filters, flipped, g);
	else
		depthwise_position1(image, kernel_of, out, add, lines, points, channels, filters, flipped, g);
}

/* The positions begin ... end - 1 of a line, one after the other, for a block of channels. */
void depthwise_positions(__global const stored *image, __global const float *kernel_of, __global stored *line, int add,
			 int4 lines, int begin, int end, int channels, int filters, int flipped,
			 __global const struct window *g)
{
	for (int w = begin; w < end; w++) {
		const int4 points = depthwise_taps(g, 1, w);

		for (int v = 0; v < min(channels, DEPTHWISE_LINE); v += DEPTHWISE_SPAN)
			depthwise_span(image + v, kernel_of + v, line + (size_t)w * filters + v, add, lines, points,
				       channels - v, filters, flipped, g);
	}
}

/* OUT [rows, out, filters] (+)= A [rows, in, filters] * kernel; `flipped`: the taps of the kernel in reverse order, for
 * the gradient of the input. Groups (rows * lines of out, 1) of one work-item. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void depthwise_lines(
	__global const stored *A, __global const float *kernel_of, __global stored *OUT, int add, int filters, int flipped,
	__global const struct window *g)
{
	const int h = get_group_id(0) % g->out[0];
	__global const stored *image = A + get_group_id(0) / g->out[0] * ((size_t)g->in[0] * g->in[1] * filters);
	__global stored *line = OUT + (size_t)get_group_id(0) * g->out[1] * filters;
	const int4 lines = depthwise_taps(g, 0, h);
	const int2 inside = g->apart[0] > 1 || g->apart[1] > 1 ? (int2)(0, 0) : depthwise_inside(g, 0, g->size[1] - 1);

	for (int c = 0; c < filters; c += DEPTHWISE_LINE) {
		const int channels = filters - c;
		int after;

		depthwise_positions(image + c, kernel_of + c, line + c, add, lines, 0, inside.x, channels, filters,
				    flipped, g);
		after = depthwise_blocks(image + c, kernel_of + c, line + c, add, lines, inside.x, inside.y, channels,
					 filters, flipped, g);
		depthwise_positions(image + c, kernel_of + c, line + c, add, lines, after, g->out[1], channels, filters,
				    flipped, g);
	}
}

/* ---- Lines: gradient of the kernel ---- */

#define TAPS1(X) X(0)
#define TAPS3(X) TAPS1(X) X(1) X(2)
#define TAPS5(X) TAPS3(X) X(3) X(4)
#define TAP_GET(k)                                                                                            \
	float16 t##k##_0 = get16(0, own + (size_t)k * columns), t##k##_1 = get16(1, own + (size_t)k * columns);
#define TAP_PUT(k)                                                                                            \
	put16(t##k##_0, 0, own + (size_t)k * columns);                                                        \
	put16(t##k##_1, 1, own + (size_t)k * columns);
#define TAP_TERM(k)                                                                                           \
	t##k##_0 = fma(load16(0, a + k * next), d0, t##k##_0);                                                \
	t##k##_1 = fma(load16(1, a + k * next), d1, t##k##_1);
#define TAP_TERM_INSIDE(k)                                                                                    \
	if (x + k * g->dilation[1] >= 0 && x + k * g->dilation[1] < g->in[1]) {                               \
		TAP_TERM(k)                                                                                   \
	}
#define TAP_POSITIONS(end, TERM)                                                                              \
	for (; w < (end); w++) {                                                                              \
		const int x = w * g->stride[1] + kw * g->dilation[1] - g->before[1];                          \
		__global const stored *a = from + (long)x * filters;                                          \
		const float16 d0 = load16(0, dy + (size_t)w * filters), d1 = load16(1, dy + (size_t)w * filters); \
                                                                                                              \
		TAPS(TERM)                                                                                    \
	}

/* Adds a line of dY to the sums of neighbouring taps, from tap kw of a line of the kernel on, for two vectors of
 * channels. `from` is the line of X. */
#define DEPTHWISE_TAPS(name, count)                                                                           \
	void name(__global const stored *from, __global const stored *dy, __global float *own, int columns, int kw, \
		  int filters, __global const struct window *g)                                               \
	{                                                                                                     \
		const int2 inside = depthwise_inside(g, kw, kw + count - 1);                                  \
		const long next = (long)g->dilation[1] * filters;                                             \
		int w = 0;                                                                                    \
                                                                                                              \
		TAPS(TAP_GET)                                                                                 \
		TAP_POSITIONS(inside.x, TAP_TERM_INSIDE)                                                      \
		TAP_POSITIONS(inside.y, TAP_TERM)                                                             \
		TAP_POSITIONS(g->out[1], TAP_TERM_INSIDE)                                                     \
		TAPS(TAP_PUT)                                                                                 \
	}

#define TAPS TAPS1
DEPTHWISE_TAPS(depthwise_taps1, 1)
#undef TAPS
#define TAPS TAPS3
DEPTHWISE_TAPS(depthwise_taps3, 3)
#undef TAPS
#define TAPS TAPS5
DEPTHWISE_TAPS(depthwise_taps5, 5)
#undef TAPS

/* Adds a line of dY to the sums of one line of the kernel. */
void depthwise_kernel_line(__global const stored *from, __global const stored *dy, __global float *own, int columns,
			   int filters, __global const struct window *g)
{
	int kw = 0;

	for (; kw + 5 <= g->size[1]; kw += 5)
		depthwise_taps5(from, dy, own + (size_t)kw * columns, columns, kw, filters, g);
	for (; kw + 3 <= g->size[1]; kw += 3)
		depthwise_taps3(from, dy, own + (size_t)kw * columns, columns, kw, filters, g);
	for (; kw < g->size[1]; kw++)
		depthwise_taps1(from, dy, own + (size_t)kw * columns, columns, kw, filters, g);
}

void depthwise_bias_line(__global const stored *dy, __global float *own, int filters, int positions)
{
	float16 sum0 = get16(0, own), sum1 = get16(1, own);

	for (int w = 0; w < positions; w++) {
		sum0 += load16(0, dy + (size_t)w * filters);
		sum1 += load16(1, dy + (size_t)w * filters);
	}
	put16(sum0, 0, own);
	put16(sum1, 1, own);
}

/* partial [chunks, taps + 1, columns], columns = a multiple of 32, as depthwise_kernel writes it. Groups (chunks,
 * columns / `span`) of one work-item; `bias`: the last row, the sums of dY, is wanted. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void depthwise_kernel_lines(
	__global const stored *X, __global const stored *DY, __global float *partial, int images, int chunk_images,
	int filters, int columns, int span, int bias, __global const struct window *g)
{
	const int taps = g->size[0] * g->size[1], first = get_group_id(0) * chunk_images;
	const int last = min(images, first + chunk_images), c0 = get_group_id(1) * span, end = min(columns, c0 + span);
	__global float *own = partial + (size_t)get_group_id(0) * (taps + 1) * columns;

	for (int t = 0; t <= taps; t++)
		for (int c = c0; c < end; c += 16)
			put16((float16)(0), 0, own + (size_t)t * columns + c);
	for (int n = first; n < last; n++)
		for (int h = 0; h < g->out[0]; h++) {
			const int4 lines = depthwise_taps(g, 0, h);
			__global const stored *image = X + (size_t)n * g->in[0] * g->in[1] * filters;
			__global const stored *dy = DY + ((size_t)n * g->out[0] + h) * g->out[1] * filters;

			for (int c = c0; c < end; c += 32) {
				for (int i = 0; i < lines.y; i++)
					depthwise_kernel_line(
						image + (size_t)(lines.z + i * g->dilation[0]) * g->in[1] * filters + c, dy + c,
						own + (size_t)(lines.x + i) * g->size[1] * columns + c, columns, filters, g);
				if (bias)
					depthwise_bias_line(dy + c, own + (size_t)taps * columns + c, filters, g->out[1]);
			}
		}
}

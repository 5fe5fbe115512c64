/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The depthwise convolutions of depthwise.cl for CPU devices, where each channel has one filter: a work-item works on
 * whole lines of images, in vectors of 16 channels. Orders of the sums, bits, reference and tolerances are those of
 * depthwise.cl.
 */

#define DEPTHWISE_COLUMNS 4   /* positions of a block */
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

/* Returns whether the blocks of a line may have taps outside the image. */
bool depthwise_slides(__global const struct window *g)
{
	return g->stride[1] == 1 && g->dilation[1] == 1 && g->apart[0] == 1 && g->apart[1] == 1 &&
	       (g->size[1] == 3 || g->size[1] == 5);
}

/* Returns (begin, end) of the positions of a line that are computed in blocks. */
int2 depthwise_block_positions(__global const struct window *g)
{
	if (depthwise_slides(g))
		return (int2)(0, g->out[1]);
	return g->apart[0] > 1 || g->apart[1] > 1 ? (int2)(0, 0) : depthwise_inside(g, 0, g->size[1] - 1);
}

void depthwise_put(float16 sum, int channels, __global stored *out, int add)
{
	const float16 zero = 0;

	store_some(sum + (add ? load_some(channels, out) : zero), channels, out);
}

/* Fetches a vector of each of `columns` positions, `next` numbers apart, in `lines` lines: what the line below will read
 * and this line has not read. The processor does not foresee so many short runs of memory. */
void depthwise_fetch(__global const stored *from, int lines, size_t line, int columns, long next)
{
	for (int i = 0; i < lines; i++)
		for (int j = 0; j < columns; j++)
			FETCH(from + i * line + j * next);
}

#define VECTORS1(X) X(0)
#define VECTORS2(X) X(0) X(1)
#define VECTORS4(X) X(0) X(1) X(2) X(3)
#define SUM_ZERO(v) float16 sum##v = 0;
#define SUM_TERM(v) sum##v = fma(load16(v, a), get16(v, k), sum##v);
#define SUM_FETCH(v) depthwise_fetch(below + 16 * v, 1, 0, points.y, next);
#define SUM_PUT(v)  depthwise_put(sum##v, channels - 16 * v, out + 16 * v, add);

/* One position, for the vectors of a block of channels: `lines` and `points` are its taps on both sides. */
#define DEPTHWISE_POSITION(name, VECTORS)                                                                     \
	void name(__global const stored *image, __global const float *kernel_of, __global stored *out, int add, \
		  int4 lines, int4 points, int channels, int filters, int flipped, __global const struct window *g) \
	{                                                                                                     \
		const int taps = g->size[0] * g->size[1];                                                     \
		const long next = (long)g->dilation[1] * filters, step = (long)g->apart[1] * filters;         \
		const int y = lines.z + (lines.y - 1) * g->dilation[0] + 1;                                   \
		__global const stored *below = image + ((size_t)y * g->in[1] + points.z) * filters;           \
                                                                                                              \
		VECTORS(SUM_ZERO)                                                                             \
		VECTORS(SUM_FETCH)                                                                            \
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

#define BLOCK_PUT(p) depthwise_put(sum##p, channels - v, out + v + p * filters, add);

/* DEPTHWISE_COLUMNS positions of a line, for DEPTHWISE_LINE channels; apart is 1. `x` is the index in the line that tap 0
 * of the first position covers. TERMS adds the taps of a line. A block fetches what the block below it reads and no
 * other block has read. */
#define DEPTHWISE_BLOCK(name, TERMS)                                                                          \
	void name(__global const stored *image, __global const float *kernel_of, __global stored *out, int add, \
		  int4 lines, int x, int channels, int filters, int flipped, __global const struct window *g) \
	{                                                                                                     \
		const long apart = (long)g->stride[1] * filters, next = (long)g->dilation[1] * filters;       \
		const long line = (long)g->in[1] * filters, step = flipped ? -(long)filters : filters;        \
		const int t = lines.x * g->size[1], taps = g->size[0] * g->size[1];                           \
		__global const stored *from = image + lines.z * line + (long)x * filters;                     \
		__global const stored *below = from + (lines.y - 1) * g->dilation[0] * line + line +          \
					       (g->size[1] - 1) * next - apart + filters;                     \
		__global const float *tap_of = kernel_of + (long)(flipped ? taps - 1 - t : t) * filters;      \
                                                                                                              \
		for (int v = 0; v < min(channels, DEPTHWISE_LINE); v += 16) {                                 \
			__global const stored *a = from + v;                                                  \
			__global const float *k = tap_of + v;                                                 \
                                                                                                              \
			depthwise_fetch(below + v, g->stride[0], line, DEPTHWISE_COLUMNS * g->stride[1], filters); \
			VECTORS4(SUM_ZERO)                                                                    \
			for (int i = 0; i < lines.y; i++) {                                                   \
				TERMS                                                                         \
				a += g->dilation[0] * line;                                                   \
				k += g->size[1] * step;                                                       \
			}                                                                                     \
			VECTORS4(BLOCK_PUT)                                                                   \
		}                                                                                             \
	}

/* The taps of a line, one after the other, for any window. */
#define ANY_TERM(p) sum##p = fma(load16(0, a + j * next + p * apart), tap, sum##p);
#define ANY_TERMS                                             \
	for (int j = 0; j < g->size[1]; j++) {                \
		const float16 tap = get16(0, k + j * step);   \
                                                              \
		VECTORS4(ANY_TERM)                            \
	}

/* Three or five taps of a line, for stride 1 and dilation 1: neighbouring positions share what they read. READ_INSIDE:
 * the image has all these numbers. READ_ANY: those that it does not have are left out. */
#define READ_INSIDE(i, TERMS)                                 \
	{                                                     \
		const float16 number = load16(0, a + i * next); \
                                                              \
		TERMS                                         \
	}
#define READ_ANY(i, TERMS)                                    \
	if (x + i >= 0 && x + i < g->in[1])                   \
		READ_INSIDE(i, TERMS)
#define TAP(j)     const float16 tap##j = get16(0, k + j * step);
#define AT(p, j)   sum##p = fma(number, tap##j, sum##p);
#define THREE_TERMS(READ)                                     \
	TAP(0) TAP(1) TAP(2)                                  \
	READ(0, AT(0, 0))                                     \
	READ(1, AT(0, 1) AT(1, 0))                            \
	READ(2, AT(0, 2) AT(1, 1) AT(2, 0))                   \
	READ(3, AT(1, 2) AT(2, 1) AT(3, 0))                   \
	READ(4, AT(2, 2) AT(3, 1))                            \
	READ(5, AT(3, 2))
#define FIVE_TERMS(READ)                                      \
	TAP(0) TAP(1) TAP(2) TAP(3) TAP(4)                    \
	READ(0, AT(0, 0))                                     \
	READ(1, AT(0, 1) AT(1, 0))                            \
	READ(2, AT(0, 2) AT(1, 1) AT(2, 0))                   \
	READ(3, AT(0, 3) AT(1, 2) AT(2, 1) AT(3, 0))          \
	READ(4, AT(0, 4) AT(1, 3) AT(2, 2) AT(3, 1))          \
	READ(5, AT(1, 4) AT(2, 3) AT(3, 2))                   \
	READ(6, AT(2, 4) AT(3, 3))                            \
	READ(7, AT(3, 4))

DEPTHWISE_BLOCK(depthwise_block, ANY_TERMS)
DEPTHWISE_BLOCK(depthwise_block3, THREE_TERMS(READ_INSIDE))
DEPTHWISE_BLOCK(depthwise_edge3, THREE_TERMS(READ_ANY))
DEPTHWISE_BLOCK(depthwise_block5, FIVE_TERMS(READ_INSIDE))
DEPTHWISE_BLOCK(depthwise_edge5, FIVE_TERMS(READ_ANY))

/* One block, with the function that is best for it. */
void depthwise_any_block(__global const stored *image, __global const float *kernel_of, __global stored *out, int add,
			 int4 lines, int x, int channels, int filters, int flipped, __global const struct window *g)
{
	const bool inside = x >= 0 && x + g->size[1] + DEPTHWISE_COLUMNS - 1 <= g->in[1];

	if (!depthwise_slides(g))
		depthwise_block(image, kernel_of, out, add, lines, x, channels, filters, flipped, g);
	else if (g->size[1] == 3 && inside)
		depthwise_block3(image, kernel_of, out, add, lines, x, channels, filters, flipped, g);
	else if (g->size[1] == 3)
		depthwise_edge3(image, kernel_of, out, add, lines, x, channels, filters, flipped, g);
	else if (inside)
		depthwise_block5(image, kernel_of, out, add, lines, x, channels, filters, flipped, g);
	else
		depthwise_edge5(image, kernel_of, out, add, lines, x, channels, filters, flipped, g);
}

/* The blocks of a line from position `begin` to the last whole block before `end`. Returns the first position that is
 * left. If nothing is added to `line`, the last block may cover positions that another block has covered, too. */
int depthwise_blocks(__global const stored *image, __global const float *kernel_of, __global stored *line, int add,
		     int4 lines, int begin, int end, int channels, int filters, int flipped,
		     __global const struct window *g)
{
	const bool overlaps = !add && end - begin >= DEPTHWISE_COLUMNS;
	int w = begin;

	while (w + DEPTHWISE_COLUMNS <= end || (overlaps && w < end)) {
		const int at = min(w, end - DEPTHWISE_COLUMNS);

		depthwise_any_block(image, kernel_of, line + (size_t)at * filters, add, lines,
				    at * g->stride[1] - g->before[1], channels, filters, flipped, g);
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
	const int2 blocks = depthwise_block_positions(g);

	for (int c = 0; c < filters; c += DEPTHWISE_LINE) {
		const int channels = filters - c;
		int after;

		depthwise_positions(image + c, kernel_of + c, line + c, add, lines, 0, blocks.x, channels, filters,
				    flipped, g);
		after = depthwise_blocks(image + c, kernel_of + c, line + c, add, lines, blocks.x, blocks.y, channels,
					 filters, flipped, g);
		depthwise_positions(image + c, kernel_of + c, line + c, add, lines, after, g->out[1], channels, filters,
				    flipped, g);
	}
}

/* ---- The gradient of the kernel ---- */

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
			__global const stored *below =
				image + (size_t)(lines.z + (lines.y - 1) * g->dilation[0] + 1) * g->in[1] * filters;

			for (int c = c0; c < end; c += 32) {
				for (int v = c; v < c + 32; v += 16) {
					depthwise_fetch(below + v, g->stride[0], (size_t)g->in[1] * filters, g->in[1], filters);
					depthwise_fetch(dy + g->out[1] * filters + v, 1, 0, g->out[1], filters);
				}
				for (int i = 0; i < lines.y; i++)
					depthwise_kernel_line(
						image + (size_t)(lines.z + i * g->dilation[0]) * g->in[1] * filters + c, dy + c,
						own + (size_t)(lines.x + i) * g->size[1] * columns + c, columns, filters, g);
				if (bias)
					depthwise_bias_line(dy + c, own + (size_t)taps * columns + c, filters, g->out[1]);
			}
		}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that work on each element of [rows, columns] alone, forward and backward. Work-group: 64 items, one element
 * each; `add` = 1 adds to the gradient that is already in the output. References: reference() of the rows in
 * layers/relu.c, layers/dropout.c, layers/sum.c, layers/extreme.c, layers/join.c, layers/multiply.c, layers/dot.c,
 * layers/padding.c and layers/preprocess.c. Tolerance: exact, except that each product and each addition have 2^-24
 * relative, that multiply_sum says its own, and that a store may round (storage.cl).
 */

/* y = x < 0 ? 0 : x; a NaN stays a NaN. */
ELEMENTS relu(__global const stored *x, __global stored *y, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		store(load(i, x) < 0 ? 0 : load(i, x), i, y);
}

/* dx (+)= y > 0 ? dy * scale : 0. With the output y of a dropout and scale = 1 / (1 - rate), dx is the gradient of
 * relu and dropout together. */
ELEMENTS relu_backward(__global const stored *dy, __global const stored *y, __global stored *dx, float scale,
		       int add, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		store((load(i, y) > 0 ? load(i, dy) * scale : 0) + (add ? load(i, dx) : 0), i, dx);
}

/* y = x * scale + offset; the backward pass calls it with dy instead of x, and an offset of 0. */
ELEMENTS rescale(__global const stored *x, __global stored *y, float scale, float offset, int add, int rows,
		 int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		store(load(i, x) * scale + offset + (add ? load(i, y) : 0), i, y);
}

/* y[c] (+)= x[swap ? 2 - c : c] * scale c + offset c, for the three channels c of each pixel. */
ELEMENTS scale_channels(__global const stored *x, __global stored *y, int add, int rows, int columns, int swap,
			float scale_0, float scale_1, float scale_2, float offset_0, float offset_1, float offset_2)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const int c = i % 3;
		const float scale = c == 0 ? scale_0 : c == 1 ? scale_1 : scale_2;
		const float offset = c == 0 ? offset_0 : c == 1 ? offset_1 : offset_2;

		store(load(swap ? i - c + 2 - c : i, x) * scale + offset + (add ? load(i, y) : 0), i, y);
	}
}

/* y = dropped ? 0 : x * scale, scale = 1 / (1 - rate); the backward pass calls it with dy instead of x. */
#define DROPOUT_PARAMETERS                                                                                             \
	__global const stored *x, __global stored *y, int add, int rows, int columns, float scale, uint threshold,     \
		uint layer, uint step, uint first_row, uint key_low, uint key_high
ELEMENTS dropout(DROPOUT_PARAMETERS)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const uint row = first_row + (uint)(i / columns);
		const bool keeps =
			dropout_keeps(i % columns, row, step, layer, key_low, key_high, threshold);

		store((keeps ? load(i, x) * scale : 0) + (add ? load(i, y) : 0), i, y);
	}
}

#ifdef CPU_DEVICE
#define DROPOUT_SPAN 1024
/* The same as dropout for CPU devices: a group is one work-item, which computes DROPOUT_SPAN numbers of a row. 64 numbers
 * share 16 counters: see dropout_keeps(). */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void dropout_lines(DROPOUT_PARAMETERS)
{
	const int spans = (columns + DROPOUT_SPAN - 1) / DROPOUT_SPAN, row = get_group_id(0) / spans;
	const int begin = get_group_id(0) % spans * DROPOUT_SPAN, end = min(columns, begin + DROPOUT_SPAN);
	const uint16 lane = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	uint16 words[4];

	x += (size_t)row * columns;
	y += (size_t)row * columns;
	for (int c = begin; row < rows && c < end; c += 16) {
		const int w = c / 16 % 4;

		if (w == 0)
			philox_lanes(c / 4 + lane, first_row + row, step, layer, key_low, key_high, words);
		if (c + 16 <= end) {
			const float16 kept = select((float16)0, load16(0, x + c) * scale, words[w] >= threshold);

			store16(add ? kept + load16(0, y + c) : kept, 0, y + c);
		} else
			for (int i = c; i < end; i++)
				store((((const uint *)&words[w])[i - c] >= threshold ? load(i, x) * scale : 0) +
					      (add ? load(i, y) : 0),
				      i, y);
	}
}
#endif

/* Dropout of whole channels: number c of a row is dropped with all numbers of its channel, c % channels. */
ELEMENTS spatial_dropout(__global const stored *x, __global stored *y, int add, int rows, int columns, int channels,
			 float scale, uint threshold, uint layer, uint step, uint first_row, uint key_low,
			 uint key_high)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const uint row = first_row + (uint)(i / columns);
		const bool keeps =
			dropout_keeps(i % columns % channels, row, step, layer, key_low, key_high, threshold);

		store((keeps ? load(i, x) * scale : 0) + (add ? load(i, y) : 0), i, y);
	}
}

/* y (+)= a * b, where row r of b has b_columns numbers, which repeat in the columns of a. */
ELEMENTS multiply_two(__global const stored *a, __global const stored *b, __global stored *y, int add, int rows,
		      int columns, int b_columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const size_t at = i / columns * b_columns + i % columns % b_columns;

		store(load(i, a) * load(at, b) + (add ? load(i, y) : 0), i, y);
	}
}

/* y[r][c] (+)= sum over positions p, in ascending order, of a[r][p][c] * b; b as in multiply_two.
 * Tolerance: positions * 2^-24 of the sum of absolute values. */
ELEMENTS multiply_sum(__global const stored *a, __global const stored *b, __global stored *y, int add, int rows,
		      int positions, int columns, int b_columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const size_t r = i / columns, c = i % columns;
		float sum = 0;

		for (int p = 0; p < positions; p++) {
			const size_t e = (size_t)p * columns + c;

			sum += load(r * positions * columns + e, a) * load(r * b_columns + e % b_columns, b);
		}
		store(sum + (add ? load(i, y) : 0), i, y);
	}
}

/* Moves an image of `lines` lines of `line` numbers by `top` lines and `left` numbers into an image of `columns`
 * numbers in lines of `to_line`; numbers that come from outside of the image are 0. */
ELEMENTS move_image(__global const stored *from, __global stored *to, int add, int rows, int columns, int to_line,
		    int lines, int line, int top, int left)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const int e = i % columns, y = e / to_line - top, x = e % to_line - left;
		const bool inside = y >= 0 && y < lines && x >= 0 && x < line;
		const size_t at = (i / columns * lines + y) * line + x;

		store((inside ? load(at, from) : 0) + (add ? load(i, to) : 0), i, to);
	}
}

/* Writes the dimensions of a row in another order. The last three sizes of `to` are size1 .. size3; two neighbours in
 * dimension d of `to` are stride<d> numbers apart in `from`. */
ELEMENTS permute(__global const stored *from, __global stored *to, int add, int rows, int columns, int size1, int size2,
		 int size3, int stride0, int stride1, int stride2, int stride3)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const int e = i % columns, line = e / size3, image = line / size2;
		const size_t at = i / columns * columns + image / size1 * stride0 + image % size1 * stride1 +
				  line % size2 * stride2 + e % size3 * stride3;

		store(load(at, from) + (add ? load(i, to) : 0), i, to);
	}
}

/* y[r][i] = P[i]: each row gets the first `columns` numbers. */
ELEMENTS step_vectors(__global const float *P, __global stored *y, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		store(P[i % columns], i, y);
}

/* dP[i] = sum over the rows, in ascending order, of dy[r][i]; 0 from `columns` on. Tolerance: rows * 2^-24 of the sum of
 * absolute values. */
ELEMENTS step_vector_sums(__global const stored *dy, __global float *dP, int rows, int columns, int numbers)
{
	const size_t i = get_global_id(0);
	float sum = 0;

	for (int r = 0; i < (size_t)columns && r < rows; r++)
		sum += load((size_t)r * columns + i, dy);
	if (i < (size_t)numbers)
		dP[i] = sum;
}

#ifdef CPU_DEVICE
/* The same as move_image for CPU devices: a group is one work-item, which computes a line of `to`. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void move_lines(
	__global const stored *from, __global stored *to, int add, int rows, int columns, int to_line, int lines, int line,
	int top, int left)
{
	const int to_lines = columns / to_line, row = get_group_id(0) / to_lines, y = get_group_id(0) % to_lines - top;
	const bool inside = row < rows && y >= 0 && y < lines;
	const int begin = inside ? clamp(left, 0, to_line) : to_line;
	const int end = inside ? clamp(left + line, begin, to_line) : to_line;
	int x = begin;

	to += get_group_id(0) * (size_t)to_line;
	from += ((long)row * lines + y) * line - left;
	for (int i = 0; !add && i < begin; i++)
		store(0.0f, i, to);
	for (; x + 16 <= end; x += 16) {
		float16 value = load16(0, from + x);

		if (add)
			value += load16(0, to + x);
		store16(value, 0, to + x);
	}
	for (; x < end; x++)
		store(load(x, from) + (add ? load(x, to) : 0), x, to);
	for (int i = end; !add && i < to_line; i++)
		store(0.0f, i, to);
}
#endif

/* y = a + b */
ELEMENTS add_two(__global const stored *a, __global const stored *b, __global stored *y, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		store(load(i, a) + load(i, b), i, y);
}

/* y = a if sign * a >= sign * b, else b; a NaN stays a NaN. */
ELEMENTS extreme_two(__global const stored *a, __global const stored *b, __global stored *y, float sign, int rows,
		     int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const float one = load(i, a), other = load(i, b);

		store(sign * one >= sign * other || isnan(one) ? one : other, i, y);
	}
}

/* Where x = y: dx (+)= dy and left = 0; elsewhere dx (+)= 0 and left = dy. Exact. */
ELEMENTS extreme_backward(__global const stored *dy, __global const stored *x, __global const stored *y,
			  __global stored *left, __global stored *dx, int add, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const float gradient = load(i, dy);
		const bool takes = load(i, x) == load(i, y);

		if (dx)
			store((takes ? gradient : 0) + (add ? load(i, dx) : 0), i, dx);
		store(takes ? 0 : gradient, i, left);
	}
}

/* to[r * to_stride + to_at + c] (+)= from[r * from_stride + from_at + c] */
ELEMENTS copy_columns(__global const stored *from, __global stored *to, int add, int rows, int columns,
		      int from_stride, int from_at, int to_stride, int to_at)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const size_t r = i / columns, c = i % columns, t = r * to_stride + to_at + c;

		store(load(r * from_stride + from_at + c, from) + (add ? load(t, to) : 0), t, to);
	}
}

/* y[r][c] += bias[c] */
ELEMENTS bias_add(__global stored *y, __global const float *bias, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		store(load(i, y) + bias[i % columns], i, y);
}

/* sums[c] = sum over r of x[r][c]; one item for each column sums chunks of COLUMN_CHUNK rows, then the chunks.
 * Tolerance: rows * 2^-24 of the sum of absolute values. */
ELEMENTS column_sums(__global const stored *x, __global float *sums, int rows, int columns)
{
	const int c = get_global_id(0);
	float total = 0;

	if (c >= columns)
		return;
	for (int r0 = 0; r0 < rows; r0 += COLUMN_CHUNK) {
		float partial = 0;

		for (int r = r0; r < min(rows, r0 + COLUMN_CHUNK); r++)
			partial += load((size_t)r * columns + c, x);
		total += partial;
	}
	sums[c] = total;
}

/* Conversions between float, or uchar, and the type of activations. A group converts CONVERTED numbers. An item converts
 * PIECES pieces, and neighbouring items convert neighbouring pieces. `from` and `to` are aligned to a piece, except on CPU
 * devices. */
#define CONVERTED (16 * ELEMENT_GROUP)
#ifdef CPU_DEVICE
typedef float16 floats;
#define PIECE              16
#define floats_at(p)       get16(0, p)
#define bytes_at(p)        convert_float16(vload16(0, p))
#define stored_at(p)       load16(0, p)
#define put_floats(x, p)   put16(x, 0, p)
#define put_stored(x, p)   store16(x, 0, p)
#else
typedef float4 floats;
#define PIECE              4
#define floats_at(p)       (*(__global const float4 *)(p))
#define bytes_at(p)        convert_float4(*(__global const uchar4 *)(p))
#define stored_at(p)       load4(p)
#define put_floats(x, p)   (*(__global float4 *)(p) = (x))
#define put_stored(x, p)   store4(x, p)
#endif
#define PIECES (16 / PIECE)

/* Converts the numbers of a group, which are some of the first `count` ones at `from`: whole pieces by `get` and `put`; if
 * the group has fewer than CONVERTED numbers, one number at a time, where ONE converts number `at`. All pieces are loaded
 * before the first is stored, so that they are under way at the same time. */
#define CONVERT(group, count, get, put, ONE)                                                                   \
	const size_t begin = (size_t)(group) * CONVERTED, own = begin + get_local_id(0) * PIECE;              \
	floats x[PIECES];                                                                                     \
                                                                                                              \
	if (begin + CONVERTED <= (count)) {                                                                   \
		_Pragma("unroll") for (int i = 0; i < PIECES; i++)                                            \
			x[i] = get(from + own + i * ELEMENT_GROUP * PIECE);                                   \
		_Pragma("unroll") for (int i = 0; i < PIECES; i++)                                            \
			put(x[i], to + own + i * ELEMENT_GROUP * PIECE);                                      \
	} else {                                                                                              \
		for (size_t at = begin + get_local_id(0); at < (count); at += ELEMENT_GROUP)                  \
			ONE;                                                                                  \
	}

void convert_floats(__global const float *from, __global stored *to, uint group, size_t count)
{
	CONVERT(group, count, floats_at, put_stored, store(from[at], at, to))
}

#define COPY(i) __global const float *from_##i, __global stored *to_##i, uint count_##i
/* Chooses tensor i if the group is one of its groups, and no tensor is chosen yet. */
#define CHOOSE(i)                                                                          \
	if (!from) {                                                                       \
		const uint groups = count_##i / CONVERTED + (count_##i % CONVERTED > 0);   \
                                                                                           \
		from = group < groups ? from_##i : 0;                                      \
		to = to_##i;                                                               \
		count = count_##i;                                                         \
		group -= from ? 0 : groups;                                                \
	}

/* Converts several tensors of floats; each has groups of its own, in the order of the tensors. A tensor that is not given
 * has count 0. There may be more groups than the tensors need. */
ELEMENTS to_stored(COPY(0), COPY(1), COPY(2), COPY(3), COPY(4), COPY(5), COPY(6), COPY(7))
{
	__global const float *from = 0;
	__global stored *to = 0;
	uint group = get_group_id(0), count = 0;

	CHOOSE(0) CHOOSE(1) CHOOSE(2) CHOOSE(3) CHOOSE(4) CHOOSE(5) CHOOSE(6) CHOOSE(7)
	if (from)
		convert_floats(from, to, group, count);
}

/* Converts a feature of uint8. */
ELEMENTS bytes_to_stored(__global const uchar *from, __global stored *to, int rows, int columns)
{
	CONVERT(get_group_id(0), (size_t)rows * columns, bytes_at, put_stored, store((float)from[at], at, to))
}

/* Converts a feature of int64: a work-item for each number. The conversion to float rounds to the nearest. */
ELEMENTS integers_to_stored(__global const long *from, __global stored *to, int rows, int columns)
{
	const size_t at = get_global_id(0);

	if (at < (size_t)rows * columns)
		store(convert_float_rte(from[at]), at, to);
}

ELEMENTS from_stored(__global const stored *from, __global float *to, int rows, int columns)
{
	CONVERT(get_group_id(0), (size_t)rows * columns, stored_at, put_floats, to[at] = load(at, from))
}

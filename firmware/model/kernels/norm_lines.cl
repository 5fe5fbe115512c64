/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of norm.cl that pass over whole columns, for CPU devices: a work-item, which is a group of its own, works
 * on vectors of 16 columns. Parameters, order of every sum, references and tolerances are those of norm.cl. A vector may
 * reach past the last column; the numbers there, at the end of a tensor those of TENSOR_SLACK, are read and not used.
 *
 * The kernels that compute each number alone pass over [rows, columns] as one line. A group computes `span` rows, a
 * multiple of 16, so that it begins at a whole vector.
 */

#define NORM_CHUNK 64
#define NORM_LINES __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void

/* ---- Sums of columns: groups (columns / ELEMENT_GROUP, chunks) ---- */

void store_columns(float16 x, int columns, __global float *out)
{
	if (columns >= 16)
		put16(x, 0, out);
	else
		store_lanes(x, columns, out);
}

/* The vectors of at most 16, 32, 64 columns. */
#define NORM_ONE(X)  X(0)
#define NORM_TWO(X)  X(0) X(1)
#define NORM_FOUR(X) X(0) X(1) X(2) X(3)

bool row_counts(__global const uchar *empty, int row)
{
	return !empty || !empty[row];
}

#define MOMENT_ZERO(v)    float16 sum##v = 0, squares##v = 0;
#define MOMENT_SUM(v)     sum##v += load16(v, x + (size_t)r * columns);
#define MOMENT_MEAN(v)    const float16 mean##v = number > 0 ? sum##v / number : 0;
#define MOMENT_SQUARES(v)                                                                   \
	{                                                                                   \
		const float16 difference = load16(v, x + (size_t)r * columns) - mean##v;    \
                                                                                            \
		squares##v = fma(difference, difference, squares##v);                       \
	}
#define MOMENT_STORE(v)                                                                                    \
	if (left > 16 * v) {                                                                               \
		store_columns((float16)(number), left - 16 * v, partials + 16 * v);                        \
		store_columns(mean##v, left - 16 * v, partials + columns + 16 * v);                        \
		store_columns(squares##v, left - 16 * v, partials + 2 * columns + 16 * v);                 \
	}

#define MOMENTS(name, MANY)                                                                                   \
	void name(__global const stored *x, __global const uchar *empty, __global float *partials, int first, int end, \
		  int outer, int columns, int left)                                                           \
	{                                                                                                     \
		float number = 0;                                                                             \
                                                                                                              \
		MANY(MOMENT_ZERO)                                                                             \
		for (int r = first; r < end; r++)                                                             \
			if (row_counts(empty, r / outer)) {                                                   \
				MANY(MOMENT_SUM)                                                              \
				number += 1;                                                                  \
			}                                                                                     \
		MANY(MOMENT_MEAN)                                                                             \
		for (int r = first; r < end; r++)                                                             \
			if (row_counts(empty, r / outer)) {                                                   \
				MANY(MOMENT_SQUARES)                                                          \
			}                                                                                     \
		MANY(MOMENT_STORE)                                                                            \
	}

MOMENTS(moments16, NORM_ONE)
MOMENTS(moments32, NORM_TWO)
MOMENTS(moments64, NORM_FOUR)

NORM_LINES column_moments_lines(__global const stored *x, __global const uchar *empty, __global float *partials, int rows,
			   int outer, int columns)
{
	const int c = get_group_id(1) * ELEMENT_GROUP, left = columns - c, first = get_group_id(0) * NORM_CHUNK;
	const int end = min(first + NORM_CHUNK, rows * outer);

	partials += get_group_id(0) * (size_t)3 * columns + c;
	if (left > 32)
		moments64(x + c, empty, partials, first, end, outer, columns, left);
	else if (left > 16)
		moments32(x + c, empty, partials, first, end, outer, columns, left);
	else
		moments16(x + c, empty, partials, first, end, outer, columns, left);
}

#define GRADIENT_ZERO(v)                                                                                    \
	const float16 mean##v = get16(v, saved), scale##v = get16(v, saved + columns);                      \
	float16 sum##v = 0, product##v = 0;
#define GRADIENT_SUM(v)                                                                                     \
	{                                                                                                   \
		const float16 d = load16(v, dy + (size_t)r * columns);                                      \
                                                                                                            \
		sum##v += d;                                                                                \
		product##v = fma(d, (load16(v, x + (size_t)r * columns) - mean##v) * scale##v, product##v); \
	}
#define GRADIENT_STORE(v)                                                                                   \
	if (left > 16 * v) {                                                                                \
		store_columns(sum##v, left - 16 * v, sums + 16 * v);                                        \
		store_columns(product##v, left - 16 * v, sums + columns + 16 * v);                          \
	}

#define GRADIENTS_OF(name, MANY)                                                                              \
	void name(__global const stored *dy, __global const stored *x, __global const float *saved,           \
		  __global float *sums, int first, int end, int columns, int left)                            \
	{                                                                                                     \
		MANY(GRADIENT_ZERO)                                                                           \
		for (int r = first; r < end; r++) {                                                           \
			MANY(GRADIENT_SUM)                                                                    \
		}                                                                                             \
		MANY(GRADIENT_STORE)                                                                          \
	}

GRADIENTS_OF(gradients16, NORM_ONE)
GRADIENTS_OF(gradients32, NORM_TWO)
GRADIENTS_OF(gradients64, NORM_FOUR)

NORM_LINES column_gradients_lines(__global const stored *dy, __global const stored *x, __global const float *saved,
			     __global float *sums, int rows, int outer, int columns)
{
	const int c = get_group_id(1) * ELEMENT_GROUP, left = columns - c, first = get_group_id(0) * NORM_CHUNK;
	const int end = min(first + NORM_CHUNK, rows * outer);

	sums += get_group_id(0) * (size_t)2 * columns + c;
	if (left > 32)
		gradients64(dy + c, x + c, saved + c, sums, first, end, columns, left);
	else if (left > 16)
		gradients32(dy + c, x + c, saved + c, sums, first, end, columns, left);
	else
		gradients16(dy + c, x + c, saved + c, sums, first, end, columns, left);
}

/* ---- Each number: groups (rows / span, 1) ---- */

/* Returns the numbers of the columns c, c + 1, ..., which go on with column 0 after the last. */
float16 columns_from(__global const float *of, int c, int columns)
{
	float lane[32];

	if (c + 16 <= columns)
		return get16(0, of + c);
	for (int i = 0; i < 16; i++) {
		lane[i] = of[c];
		c = c + 1 < columns ? c + 1 : 0;
	}
	return get16(0, lane);
}

float16 columns_or_else(__global const float *of, float usual, int c, int columns)
{
	return of ? columns_from(of, c, columns) : usual;
}

int column_after(int c, int columns)
{
	for (c += 16; c >= columns; c -= columns)
		;
	return c;
}

NORM_LINES normalize_columns_lines(__global const stored *x, __global const float *saved, __global const float *gamma,
			      __global const float *beta, __global stored *y, int rows, int columns, int span)
{
	const size_t first = get_group_id(0) * (size_t)span * columns;
	const size_t end = min(first + (size_t)span * columns, (size_t)rows * columns);
	int c = 0;

	for (size_t i = first; i < end; i += 16) {
		const float16 mean = columns_from(saved, c, columns), scale = columns_from(saved + columns, c, columns);
		const float16 value = (load16(0, x + i) - mean) * scale * columns_or_else(gamma, 1, c, columns) +
				      columns_or_else(beta, 0, c, columns);

		store_some(value, (int)min(end - i, (size_t)16), y + i);
		c = column_after(c, columns);
	}
}

/* Returns 0 in the lanes whose row is marked empty, v in the others; lane 0 is number i. */
float16 without_empty(float16 v, size_t i, __global const uchar *empty, int outer, int columns, size_t numbers)
{
	float lane[16];

	put16(v, 0, lane);
	for (int k = 0; k < 16; k++)
		if (i + k < numbers && empty[(i + k) / columns / outer])
			lane[k] = 0;
	return get16(0, lane);
}

NORM_LINES batch_norm_backward_lines(__global const stored *dy, __global const stored *x, __global const float *saved,
				__global const float *gamma, __global const float *sums, __global const uchar *empty,
				__global stored *dx, int add, int rows, int valid_rows, int outer, int columns, int span)
{
	const size_t first = get_group_id(0) * (size_t)span * columns, numbers = (size_t)rows * outer * columns;
	const size_t end = min(first + (size_t)span * columns, numbers);
	const float n = (float)valid_rows * outer;
	int c = 0;

	for (size_t i = first; i < end; i += 16) {
		const int count = (int)min(end - i, (size_t)16);
		const float16 inverse = columns_from(saved + columns, c, columns);
		const float16 scale = inverse * columns_or_else(gamma, 1, c, columns);
		float16 v = load16(0, dy + i);

		if (sums) {
			const float16 x1 = (load16(0, x + i) - columns_from(saved, c, columns)) * inverse;

			v = v - (columns_from(sums, c, columns) + x1 * columns_from(sums + columns, c, columns)) / n;
			if (empty)
				v = without_empty(v, i, empty, outer, columns, numbers);
		}
		v = scale * v;
		if (add)
			v += load16(0, dx + i);
		store_some(v, count, dx + i);
		c = column_after(c, columns);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element by element over [rows, columns], forward beside backward. Work-group: 64 items, one element each; `add` = 1
 * adds to the gradient that is there. References: reference() of the rows in ops/activation.c, ops/dropout.c and
 * ops/join.c. Exact, but for dropout's one product and each addition: 2^-24 relative.
 */

#define ELEMENT_GROUP 64
#define ELEMENTS      __kernel __attribute__((reqd_work_group_size(ELEMENT_GROUP, 1, 1))) void

/* y = x < 0 ? 0 : x: a NaN stays one. */
ELEMENTS relu(__global const float *x, __global float *y, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		y[i] = x[i] < 0 ? 0 : x[i];
}

/* dx (+)= y > 0 ? dy * scale : 0. With y behind a dropout and scale = 1 / (1 - rate) it is the gradient of both. */
ELEMENTS relu_backward(__global const float *dy, __global const float *y, __global float *dx, float scale, int add,
		       int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		dx[i] = (y[i] > 0 ? dy[i] * scale : 0) + (add ? dx[i] : 0);
}

/* y = kept ? x * scale : 0, scale = 1 / (1 - rate); backward the same of dy. */
ELEMENTS dropout(__global const float *x, __global float *y, int add, int rows, int columns, float scale,
		 uint threshold, uint layer, uint step, uint first_row, uint key_low, uint key_high)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const uint row = first_row + (uint)(i / columns);
		const bool keeps =
			dropout_keeps(i % columns, row, step, layer, key_low, key_high, threshold);

		y[i] = (keeps ? x[i] * scale : 0) + (add ? y[i] : 0);
	}
}

/* y = a + b */
ELEMENTS add_two(__global const float *a, __global const float *b, __global float *y, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		y[i] = a[i] + b[i];
}

/* to[r * to_stride + to_at + c] (+)= from[r * from_stride + from_at + c] */
ELEMENTS copy_columns(__global const float *from, __global float *to, int add, int rows, int columns,
		      int from_stride, int from_at, int to_stride, int to_at)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const size_t r = i / columns, c = i % columns, t = r * to_stride + to_at + c;

		to[t] = from[r * from_stride + from_at + c] + (add ? to[t] : 0);
	}
}

/* y[r][c] += bias[c] */
ELEMENTS bias_add(__global float *y, __global const float *bias, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns)
		y[i] += bias[i % columns];
}

/* sums[c] = sum over r of x[r][c], one item a column: chunks of COLUMN_CHUNK rows, then over the chunks.
 * Tolerance: rows * 2^-24 of the sum of absolute values. */
ELEMENTS column_sums(__global const float *x, __global float *sums, int rows, int columns)
{
	const int c = get_global_id(0);
	float total = 0;

	if (c >= columns)
		return;
	for (int r0 = 0; r0 < rows; r0 += COLUMN_CHUNK) {
		float part = 0;

		for (int r = r0; r < min(rows, r0 + COLUMN_CHUNK); r++)
			part += x[(size_t)r * columns + c];
		total += part;
	}
	sums[c] = total;
}

/* out [columns, rows] = in [rows, columns] transposed, in two dimensions: no division, and stores lie together. */
ELEMENTS transpose(__global const float *in, __global float *out, int rows, int columns)
{
	const size_t r = get_global_id(0), c = get_global_id(1);

	if (r < (size_t)rows)
		out[c * rows + r] = in[r * columns + c];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation. x, y and their gradients are [n, columns], n = rows of the batch times `outer`; gamma and beta are
 * [columns], or null, which means 1 and 0. `saved` [2, columns] holds mean and 1 / deviation of each column, `stats`
 * [n, 2] those of each row (layer_norm.cl, rows.cl). Rows of the batch that are marked empty do not count.
 *
 * Reduction class: a column is summed as a tree: NORM_CHUNK rows at a time in order, then NORM_CHUNK of these sums at a
 * time in order, until one sum is left. The order does not depend on the device. References:
 * reference() in layers/batch_norm.c, layer_norm.c and normalization.c. Tolerance: (NORM_CHUNK + 6 * levels) * 2^-24 of
 * the sum of absolute values; for a quotient by a deviation, of that sum divided by the deviation.
 */

#define NORM_CHUNK 64

/* Of the kernels that are launched over chunks and columns. The chunks are in the first dimension, because GPUs take at
 * most 65535 groups in the second. */
#define COLUMN (get_group_id(1) * ELEMENT_GROUP + get_local_id(0))

bool counts(__global const uchar *empty, int row)
{
	return !empty || !empty[row];
}

/* ---- Moments of columns: partial results [chunks, 3, columns] = number, mean, sum of squared differences ---- */

/* Two dimensions: chunks, columns. */
ELEMENTS column_moments(__global const stored *x, __global const uchar *empty, __global float *partials, int rows,
			int outer, int columns)
{
	const int c = COLUMN, chunk = get_group_id(0);
	const int first = chunk * NORM_CHUNK, end = min(first + NORM_CHUNK, rows * outer);
	float number = 0, sum = 0, squares = 0;

	if (c >= columns)
		return;
	for (int r = first; r < end; r++)
		if (counts(empty, r / outer)) {
			sum += load((size_t)r * columns + c, x);
			number += 1;
		}

	const float mean = number > 0 ? sum / number : 0;

	for (int r = first; r < end; r++)
		if (counts(empty, r / outer)) {
			const float difference = load((size_t)r * columns + c, x) - mean;

			squares = fma(difference, difference, squares);
		}
	partials += (size_t)chunk * 3 * columns + c;
	partials[0] = number;
	partials[columns] = mean;
	partials[2 * columns] = squares;
}

/* Merges NORM_CHUNK partial results into one (Chan, Golub, LeVeque, 1983); each in `in` is that of `tile` rows. */
ELEMENTS merge_moments(__global const float *in, __global float *out, int rows, int outer, int tile, int columns)
{
	const int c = COLUMN, group = get_group_id(0);
	const int partials = (rows * outer + tile - 1) / tile, first = group * NORM_CHUNK;
	float number = 0, mean = 0, squares = 0;

	if (c >= columns)
		return;
	for (int p = first; p < min(first + NORM_CHUNK, partials); p++) {
		__global const float *partial = in + (size_t)p * 3 * columns + c;
		const float more = partial[0], total = number + more, difference = partial[columns] - mean;

		if (more > 0) {
			mean += difference * (more / total);
			squares += partial[2 * columns] + difference * difference * (number * (more / total));
			number = total;
		}
	}
	out += (size_t)group * 3 * columns + c;
	out[0] = number;
	out[columns] = mean;
	out[2 * columns] = squares;
}

/* Writes `saved`; updates moving mean and moving variance: moving = moving * momentum + (1 - momentum) * statistic of
 * the batch. As in Keras, the variance of the batch is divided by n, not by n - 1. */
ELEMENTS batch_moments(__global const float *moments, __global float *saved, __global float *moving_mean,
		       __global float *moving_variance, float momentum, float one_minus_momentum, float epsilon,
		       int columns)
{
	const int c = get_global_id(0);

	if (c >= columns)
		return;

	const float number = moments[c], mean = moments[columns + c];
	const float variance = number > 0 ? moments[2 * columns + c] / number : 0;

	saved[c] = mean;
	saved[columns + c] = 1 / sqrt(variance + epsilon);
	if (number > 0) {
		moving_mean[c] = moving_mean[c] * momentum + mean * one_minus_momentum;
		moving_variance[c] = moving_variance[c] * momentum + variance * one_minus_momentum;
	}
}

/* Writes `saved` from given statistics: deviation = max(sqrt(variance + epsilon), least) */
ELEMENTS given_moments(__global const float *mean, __global const float *variance, __global float *saved, float epsilon,
		       float least, int columns)
{
	const int c = get_global_id(0);

	if (c >= columns)
		return;
	saved[c] = mean[c];
	saved[columns + c] = 1 / fmax(sqrt(variance[c] + epsilon), least);
}

/* y = (x - mean) / deviation * gamma + beta */
ELEMENTS normalize_columns(__global const stored *x, __global const float *saved, __global const float *gamma,
			   __global const float *beta, __global stored *y, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const int c = i % columns;

		store((load(i, x) - saved[c]) * saved[columns + c] * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0), i, y);
	}
}

/* ---- Backward: sums [chunks, 2, columns] of dy and of dy * (x - mean) / deviation ---- */

/* Two dimensions: chunks, columns. */
ELEMENTS column_gradients(__global const stored *dy, __global const stored *x, __global const float *saved,
			  __global float *sums, int rows, int outer, int columns)
{
	const int c = COLUMN, chunk = get_group_id(0);
	const int first = chunk * NORM_CHUNK, end = min(first + NORM_CHUNK, rows * outer);
	float sum = 0, product = 0;

	if (c >= columns)
		return;
	for (int r = first; r < end; r++) {
		const size_t i = (size_t)r * columns + c;

		sum += load(i, dy);
		product = fma(load(i, dy), (load(i, x) - saved[c]) * saved[columns + c], product);
	}
	sums += (size_t)chunk * 2 * columns + c;
	sums[0] = sum;
	sums[columns] = product;
}

/* Sums over each chunk of rows: sum of dy, and sum of dy times the normalized x; `stats` has the moments of each row. */
ELEMENTS row_gradients(__global const stored *dy, __global const stored *x, __global const float *stats,
		       __global float *sums, int rows, int outer, int columns)
{
	const int c = COLUMN, chunk = get_group_id(0);
	const int first = chunk * NORM_CHUNK, end = min(first + NORM_CHUNK, rows * outer);
	float sum = 0, product = 0;

	if (c >= columns)
		return;
	for (int r = first; r < end; r++) {
		const size_t i = (size_t)r * columns + c;

		sum += load(i, dy);
		product = fma(load(i, dy), (load(i, x) - stats[2 * r]) * stats[2 * r + 1], product);
	}
	sums += (size_t)chunk * 2 * columns + c;
	sums[0] = sum;
	sums[columns] = product;
}

/* Merges NORM_CHUNK partial results into one; each in `in` is that of `tile` rows. */
ELEMENTS merge_gradients(__global const float *in, __global float *out, int rows, int outer, int tile, int columns)
{
	const int c = COLUMN, group = get_group_id(0);
	const int partials = (rows * outer + tile - 1) / tile, first = group * NORM_CHUNK;
	float sum = 0, product = 0;

	if (c >= columns)
		return;
	for (int p = first; p < min(first + NORM_CHUNK, partials); p++) {
		sum += in[(size_t)p * 2 * columns + c];
		product += in[((size_t)p * 2 + 1) * columns + c];
	}
	out[(size_t)group * 2 * columns + c] = sum;
	out[((size_t)group * 2 + 1) * columns + c] = product;
}

/* Writes the gradients of gamma and beta, each of which may be null. */
ELEMENTS norm_parameter_gradients(__global const float *sums, __global float *gamma_gradient,
				  __global float *beta_gradient, int columns)
{
	const int c = get_global_id(0);

	if (c >= columns)
		return;
	if (gamma_gradient)
		gamma_gradient[c] = sums[columns + c];
	if (beta_gradient)
		beta_gradient[c] = sums[c];
}

/* dx (+)= gamma / deviation * (dy - (sum dy + x' * sum dy x') / n), x' = (x - mean) / deviation; if the statistics were
 * given, not computed from the batch, `sums` is null and dx = gamma / deviation * dy. */
ELEMENTS batch_norm_backward(__global const stored *dy, __global const stored *x, __global const float *saved,
			     __global const float *gamma, __global const float *sums, __global const uchar *empty,
			     __global stored *dx, int add, int rows, int valid_rows, int outer, int columns)
{
	const size_t i = get_global_id(0);

	if (i >= (size_t)rows * outer * columns)
		return;

	const int c = i % columns;
	const float scale = saved[columns + c] * (gamma ? gamma[c] : 1);
	float v = load(i, dy);

	if (sums) {
		const float x1 = (load(i, x) - saved[c]) * saved[columns + c];
		const float n = (float)valid_rows * outer;

		v = counts(empty, i / columns / outer) ? v - (sums[c] + x1 * sums[columns + c]) / n : 0;
	}
	store(scale * v + (add ? load(i, dx) : 0), i, dx);
}

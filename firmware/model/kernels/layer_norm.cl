/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation of each row of x [rows, columns] on CPU devices; rows.cl has that of GPUs. gamma, beta and `stats`: see
 * norm.cl. Work-group: 16 items, one row each; sums run over the columns in order. Reference: reference() in
 * layers/layer_norm.c. Tolerance: columns * 2^-24 of the sum of absolute values; for a quotient by a deviation, of that
 * sum divided by the deviation.
 */

/* y = (x - mean) / sqrt(sum (x - mean)^2 / over + epsilon) * gamma + beta over the columns of a row; one item for each row.
 * Without `centered` the mean is 0. `over` is the number of columns, or 1: then a row has the length 1. */
ROWS layer_norm(__global const stored *x, __global const float *gamma, __global const float *beta,
		__global float *stats, __global stored *y, float epsilon, int centered, int over, int rows, int columns)
{
	const int r = get_global_id(0);
	float sum = 0, squares = 0;

	if (r >= rows)
		return;
	x += (size_t)r * columns;
	y += (size_t)r * columns;
	for (int c = 0; centered && c < columns; c++)
		sum += load(c, x);

	const float mean = sum / columns;

	for (int c = 0; c < columns; c++)
		squares = fma(load(c, x) - mean, load(c, x) - mean, squares);

	const float scale = 1 / sqrt(squares / over + epsilon);

	for (int c = 0; c < columns; c++)
		store((load(c, x) - mean) * scale * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0), c, y);
	stats[2 * r] = mean;
	stats[2 * r + 1] = scale;
}

/* g = dy * gamma; dx (+)= (g - sum g / columns - x' * sum g x' / over) / deviation; the sum of g is 0 without `centered`. */
ROWS layer_norm_backward(__global const stored *dy, __global const stored *x, __global const float *gamma,
			 __global const float *stats, __global stored *dx, int add, int centered, int over, int rows, int columns)
{
	const int r = get_global_id(0);
	float sum = 0, product = 0;

	if (r >= rows)
		return;
	dy += (size_t)r * columns;
	x += (size_t)r * columns;
	dx += (size_t)r * columns;

	const float mean = stats[2 * r], scale = stats[2 * r + 1];

	for (int c = 0; c < columns; c++) {
		const float g = load(c, dy) * (gamma ? gamma[c] : 1);

		sum += centered ? g : 0;
		product = fma(g, (load(c, x) - mean) * scale, product);
	}
	for (int c = 0; c < columns; c++) {
		const float g = load(c, dy) * (gamma ? gamma[c] : 1), x1 = (load(c, x) - mean) * scale;

		store((g - sum / columns - x1 * product / over) * scale + (add ? load(c, dx) : 0), c, dx);
	}
}

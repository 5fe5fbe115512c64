/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax and normalisation of each row of [rows, columns] on GPUs. Work-group and order of sums: rows.clh. Formulae,
 * parameters, references and tolerances: softmax.cl, layer_norm.cl.
 */
#include "rows.clh"

ROW_KERNEL softmax_group(__global const stored *x, __global stored *p, int rows, int classes)
{
	__local float partial[ROW_ITEMS];
	const struct row row = own_row(rows, classes);
	float most = -INFINITY, sum = 0;

	x += row.index * classes;
	p += row.index * classes;
	FOR_FOURS(c, row)
		most = LARGER(most_of_four(load_four(x, c, row, -INFINITY)), most);
	most = most_of_row(most, row, partial);
	FOR_FOURS(c, row)
		sum += sum_of_four(exp(load_four(x, c, row, -INFINITY) - most));
	sum = sum_of_row(sum, row, partial);
	FOR_FOURS(c, row)
		store_four(exp(load_four(x, c, row, 0) - most) / sum, p, c, row);
}

ROW_KERNEL softmax_backward_group(__global const stored *dy, __global const stored *p, __global stored *dx, int add,
				  int rows, int classes)
{
	__local float partial[ROW_ITEMS];
	const struct row row = own_row(rows, classes);
	float dot_product = 0;

	dy += row.index * classes;
	p += row.index * classes;
	dx += row.index * classes;
	FOR_FOURS(c, row)
		dot_product += sum_of_four(load_four(dy, c, row, 0) * load_four(p, c, row, 0));
	dot_product = sum_of_row(dot_product, row, partial);
	FOR_FOURS(c, row) {
		const float4 v = load_four(p, c, row, 0) * (load_four(dy, c, row, 0) - dot_product);

		store_four(add ? v + load_four(dx, c, row, 0) : v, dx, c, row);
	}
}

/* Returns the factors of gamma for the turn `c`. */
float4 gamma_of(__global const float *gamma, int c, struct row row)
{
	return gamma ? floats_four(gamma, c, row, 0) : (float4)(1);
}

ROW_KERNEL layer_norm_group(__global const stored *x, __global const float *gamma, __global const float *beta,
			    __global float *stats, __global stored *y, float epsilon, int centered, int over,
			    int rows, int columns)
{
	__local float partial[ROW_ITEMS];
	const struct row row = own_row(rows, columns);
	float sum = 0, squares = 0;

	x += row.index * columns;
	y += row.index * columns;
	if (centered)
		FOR_FOURS(c, row)
			sum += sum_of_four(load_four(x, c, row, 0));

	const float mean = sum_of_row(sum, row, partial) / columns;

	FOR_FOURS(c, row) {
		const float4 difference = load_four(x, c, row, mean) - mean;

		squares += sum_of_four(difference * difference);
	}

	const float scale = 1 / sqrt(sum_of_row(squares, row, partial) / over + epsilon);

	FOR_FOURS(c, row) {
		const float4 v = (load_four(x, c, row, 0) - mean) * scale * gamma_of(gamma, c, row);

		store_four(beta ? v + floats_four(beta, c, row, 0) : v, y, c, row);
	}
	if (row.first == 0 && row.end) {
		stats[2 * row.index] = mean;
		stats[2 * row.index + 1] = scale;
	}
}

ROW_KERNEL layer_norm_backward_group(__global const stored *dy, __global const stored *x, __global const float *gamma,
				     __global const float *stats, __global stored *dx, int add, int centered, int over,
				     int rows, int columns)
{
	__local float2 partial[ROW_ITEMS];
	const struct row row = own_row(rows, columns);
	const float mean = row.end ? stats[2 * row.index] : 0, scale = row.end ? stats[2 * row.index + 1] : 0;
	float2 sums = 0;

	dy += row.index * columns;
	x += row.index * columns;
	dx += row.index * columns;
	FOR_FOURS(c, row) {
		const float4 g = load_four(dy, c, row, 0) * gamma_of(gamma, c, row);

		sums.x += centered ? sum_of_four(g) : 0;
		sums.y += sum_of_four(g * ((load_four(x, c, row, mean) - mean) * scale));
	}
	sums = sums_of_row(sums, row, partial);
	FOR_FOURS(c, row) {
		const float4 g = load_four(dy, c, row, 0) * gamma_of(gamma, c, row);
		const float4 x1 = (load_four(x, c, row, 0) - mean) * scale;
		const float4 v = (g - sums.x / columns - x1 * sums.y / over) * scale;

		store_four(add ? v + load_four(dx, c, row, 0) : v, dx, c, row);
	}
}

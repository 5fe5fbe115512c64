/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax of each row of [rows, classes] on CPU devices; rows.cl has that of GPUs. Work-group: 16 items, one row each; sums
 * run over the classes in order.
 * References: softmax's reference() in layers/activation.c, categorical_crossentropy's in losses.c. Tolerance: 2^-20
 * relative (exp: 3 ulp, and one rounding per class).
 */

/* p = exp(x - max x) / sum exp(x - max x) */
ROWS softmax(__global const stored *x, __global stored *p, int rows, int classes)
{
	const int r = get_global_id(0);

	if (r >= rows)
		return;
	x += (size_t)r * classes;
	p += (size_t)r * classes;

	const float most = row_max(x, classes);
	float sum = 0;

	for (int c = 0; c < classes; c++)
		sum += exp(load(c, x) - most);
	for (int c = 0; c < classes; c++)
		store(exp(load(c, x) - most) / sum, c, p);
}

/* dx (+)= p * (dy - sum dy * p) */
ROWS softmax_backward(__global const stored *dy, __global const stored *p, __global stored *dx, int add, int rows,
		      int classes)
{
	const int r = get_global_id(0);
	float dot_product = 0;

	if (r >= rows)
		return;
	dy += (size_t)r * classes;
	p += (size_t)r * classes;
	dx += (size_t)r * classes;
	for (int c = 0; c < classes; c++)
		dot_product = fma(load(c, dy), load(c, p), dot_product);
	for (int c = 0; c < classes; c++)
		store(load(c, p) * (load(c, dy) - dot_product) + (add ? load(c, dx) : 0), c, dx);
}

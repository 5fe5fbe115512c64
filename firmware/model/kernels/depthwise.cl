/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution: filter f reads channel f / multiplier, kernel [taps, channels * multiplier]. Two families of
 * kernels have the same bits: these ones compute one number a work-item, for every device and every multiplier; those of
 * depthwise_lines.cl are for CPU devices and multiplier 1.
 *
 * Reduction class: every sum has the order that is written at its kernel, with one fma per term; taps that are padding
 * are left out. Reference: reference() in layers/conv.c. Tolerance: taps * 2^-24 of the sum of absolute products, for the
 * gradient of the kernel positions * images of a chunk * 2^-24.
 */

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

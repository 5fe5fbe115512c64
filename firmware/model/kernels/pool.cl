/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling, window g (window.cl) without dilation, forward beside backward:
 *   max_pool: Y[n][p][c] = largest of what place p covers; best [rows, places, channels] = which number of the image's
 *     height * width that is, the first in row-major order, where `best` is not null. A NaN is the largest.
 *   average_pool: Y = sum / count of what p covers within the image
 * X, DX [rows, in, channels], Y, DY [rows, out, channels]. An item a number of Y, backward of DX, which adds up the
 * places that cover it in row-major order; `add` = 1 adds to what is there. Sums of Y: each row of the window, then the
 * rows. Reference: reference() in ops/pool.c. Tolerance: exact; average: numbers of the window * 2^-24.
 */

#define POOL_PARAMETERS int rows, int channels, __global const struct window *g

ELEMENTS max_pool(__global const float *X, __global float *Y, __global uint *best, POOL_PARAMETERS)
{
	const uint i = get_global_id(0), place = i / channels, c = i % channels, n = place / g->out[1] / g->out[0];
	const int2 h = window_span(g, 0, place / g->out[1] % g->out[0]), w = window_span(g, 1, place % g->out[1]);
	__global const float *image = X + (size_t)n * g->in[0] * g->in[1] * channels + c;
	uint at = h.s0 * g->in[1] + w.s0;
	float most;

	if (n >= (uint)rows)
		return;
	most = image[(size_t)at * channels];
	for (int y = h.s0; y < h.s1; y++)
		for (int x = w.s0; x < w.s1; x++) {
			const float value = image[((size_t)y * g->in[1] + x) * channels];

			if (value > most || (value != value && most == most)) {
				most = value;
				at = y * g->in[1] + x;
			}
		}
	Y[i] = most;
	if (best)
		best[i] = at;
}

ELEMENTS max_pool_backward(__global const float *DY, __global const uint *best, __global float *DX, int add,
			   POOL_PARAMETERS)
{
	const uint i = get_global_id(0), at = i / channels, c = i % channels, size = g->in[0] * g->in[1];
	const uint n = at / size;
	const int2 h = window_places(g, 0, at % size / g->in[1]), w = window_places(g, 1, at % g->in[1]);
	float sum = 0;

	if (n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++)
		for (int x = w.s0; x < w.s1; x++) {
			const size_t from = (((size_t)n * g->out[0] + y) * g->out[1] + x) * channels + c;

			sum += best[from] == at % size ? DY[from] : 0;
		}
	DX[i] = sum + (add ? DX[i] : 0);
}

ELEMENTS average_pool(__global const float *X, __global float *Y, POOL_PARAMETERS)
{
	const uint i = get_global_id(0), place = i / channels, c = i % channels, n = place / g->out[1] / g->out[0];
	const int2 h = window_span(g, 0, place / g->out[1] % g->out[0]), w = window_span(g, 1, place % g->out[1]);
	__global const float *image = X + (size_t)n * g->in[0] * g->in[1] * channels + c;
	float total = 0;

	if (n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++) {
		float sum = 0;

		for (int x = w.s0; x < w.s1; x++)
			sum += image[((size_t)y * g->in[1] + x) * channels];
		total += sum;
	}
	Y[i] = total / ((h.s1 - h.s0) * (w.s1 - w.s0));
}

ELEMENTS average_pool_backward(__global const float *DY, __global float *DX, int add, POOL_PARAMETERS)
{
	const uint i = get_global_id(0), at = i / channels, c = i % channels, size = g->in[0] * g->in[1];
	const uint n = at / size;
	const int2 h = window_places(g, 0, at % size / g->in[1]), w = window_places(g, 1, at % g->in[1]);
	float sum = 0;

	if (n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++) {
		const int2 high = window_span(g, 0, y);

		for (int x = w.s0; x < w.s1; x++) {
			const int2 wide = window_span(g, 1, x);
			const size_t from = (((size_t)n * g->out[0] + y) * g->out[1] + x) * channels + c;

			sum += DY[from] / ((high.s1 - high.s0) * (wide.s1 - wide.s0));
		}
	}
	DX[i] = sum + (add ? DX[i] : 0);
}

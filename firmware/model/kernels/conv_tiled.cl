/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolutions of conv_packed.cl and conv.cl for devices that are not CPUs: groups of 16 x 16 work-items, tiles of both matrices in
 * local memory; each item computes one number of the result. Parameters, order of the sums, references and tolerances
 * are those of these files, but `zeros` is not used. In `partial`, tap_rows = channels, and columns is rounded up to SIDE.
 */

/* Returns the index in the images at which the channels begin that tap `tap` of position `p` covers; -1: padding. `p`
 * counts the positions of all images. */
long position_source(__global const struct window *g, int p, int tap, int channels)
{
	const int y = window_source(g, 0, p / g->out[1] % g->out[0], tap / g->size[1]);
	const int x = window_source(g, 1, p % g->out[1], tap % g->size[1]);
	const int n = p / g->out[1] / g->out[0];

	return y < 0 || x < 0 ? -1 : (((long)n * g->in[0] + y) * g->in[1] + x) * channels;
}

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void conv_16x16(
	GEMM_PARAMETERS, __global const struct window *g, __global const stored *zeros)
{
	__local float tile_a[SIDE][SIDE + 1], tile_b[SIDE][SIDE + 1];
	const int r = get_local_id(1), c = get_local_id(0), terms = g->size[0] * g->size[1] * K;
	const int i = get_group_id(0) * SIDE + r, j = get_group_id(1) * SIDE + c;
	float x = 0;

	for (int k0 = 0; k0 < terms; k0 += SIDE) {
		const int k = k0 + c;
		const long from = i < M && k < terms ? position_source(g, i, k / K, K) : -1;

		tile_a[r][c] = from < 0 ? 0 : load(from + k % K, A);
		tile_b[r][c] = j < N && k0 + r < terms ? load((size_t)(k0 + r) * N + j, B) : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int t = 0; t < SIDE; t++)
			x = fma(tile_a[r][t], tile_b[t][c], x);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (i < M && j < N)
		finish_item(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row,
			    key_low, key_high);
}

/* Groups (chunks * ceil((taps * channels + 1) / SIDE), columns / SIDE). Row taps * channels of a chunk is dbias,
 * computed with 1 instead of X. */
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void conv_kernel_16x16(
	__global const stored *X, __global const stored *DY, __global float *partial, int images, int chunk_images,
	int channels, int filters, int tap_rows, __global const struct window *g)
{
	__local float tile_x[SIDE][SIDE + 1], tile_dy[SIDE][SIDE + 1];
	const int r = get_local_id(1), c = get_local_id(0), rows = g->size[0] * g->size[1] * tap_rows;
	const int tiles = rows / SIDE + 1, chunk = get_group_id(0) / tiles, columns = get_num_groups(1) * SIDE;
	const int i = get_group_id(0) % tiles * SIDE + r, j = get_group_id(1) * SIDE + c;
	const int positions = g->out[0] * g->out[1], last = min(images, (chunk + 1) * chunk_images) * positions;
	float sum = 0;

	for (int p0 = chunk * chunk_images * positions; p0 < last; p0 += SIDE) {
		const long from = i < rows && p0 + c < last ? position_source(g, p0 + c, i / channels, channels) : -1;

		tile_x[r][c] = i == rows ? 1 : from < 0 ? 0 : load(from + i % channels, X);
		tile_dy[r][c] = j < filters && p0 + r < last ? load((size_t)(p0 + r) * filters + j, DY) : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int p = 0; p < SIDE; p++)
			sum = fma(tile_x[r][p], tile_dy[p][c], sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (i <= rows)
		partial[((size_t)chunk * (rows + 1) + i) * columns + j] = sum;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling with window g (window.cl) without dilation, forward and backward:
 *   max_pool: Y[n][p][c] = largest number that position p covers; a NaN counts as the largest. If `best` is not null,
 *     best [rows, positions, channels] = index of that number in height * width of the image, the first one in
 *     row-major order.
 *   average_pool: Y[n][p][c] = mean of the numbers that position p covers within the image
 * X, DX [rows, in, channels], Y, DY [rows, out, channels]. Forward, an item computes POOL_CHANNELS channels of a
 * position of Y. Backward, it computes POOL_CHANNELS channels of a number of DX as the sum over the positions that
 * cover it, in row-major order; `add` = 1 adds to the numbers that are already in DX. If `pooled` is not null, it is Y of
 * the forward pass, and DX is the gradient of the input of a relu before the pool: a position whose Y is not > 0 adds
 * nothing. Sums of Y run over each row of the window, then over the rows. Reference: reference() in layers/pool.c. Tolerance: max_pool is exact; average_pool:
 * numbers of the window * 2^-24.
 */

#define POOL_CHANNELS   16
#define POOL_PARAMETERS int rows, int channels, __global const struct window *g

/* The share of a work-item in [rows, height, width, channels]: in row n, at position (y, x), whose index in height *
 * width is `at`, the channels c ... c + count - 1. */
struct pool_item {
	uint n, at;
	int y, x, c, count;
};

struct pool_item pool_item(int channels, int height, int width)
{
	const uint i = get_global_id(0), blocks = (channels + POOL_CHANNELS - 1) / POOL_CHANNELS, position = i / blocks;
	struct pool_item item;

	item.n = position / (height * width);
	item.at = position % (height * width);
	item.y = item.at / width;
	item.x = item.at % width;
	item.c = i % blocks * POOL_CHANNELS;
	item.count = min(POOL_CHANNELS, channels - item.c);
	return item;
}

/* Returns the index at which the channels of an item begin, at position (y, x) of its row. */
size_t pool_at(const struct pool_item *item, int channels, int height, int width, int y, int x)
{
	return (((size_t)item->n * height + y) * width + x) * channels + item->c;
}

/* Fetches what the line below reads and this line does not: lines y ... y + lines - 1 of X at columns x.s0 ... x.s1 - 1. The
 * processor does not foresee so many short runs of memory. */
void pool_fetch(__global const stored *X, const struct pool_item *item, int channels, int height, int width, int y,
		int lines, int2 x)
{
	for (int i = 0; i < lines; i++)
		for (int j = x.s0; j < x.s1; j++)
			FETCH(X + pool_at(item, channels, height, width, y + i, j));
}

/* Loads, for each channel of an item, the index in the image of the largest number. */
int16 load_best(int count, __global const int *in)
{
	int lane[16] = { 0 };

	if (count == 16)
		return vload16(0, in);
	for (int i = 0; i < count; i++)
		lane[i] = in[i];
	return vload16(0, lane);
}

void store_best(int16 at, int count, __global int *out)
{
	int lane[16];

	if (count == 16) {
		vstore16(at, 0, out);
		return;
	}
	vstore16(at, 0, lane);
	for (int i = 0; i < count; i++)
		out[i] = lane[i];
}

ELEMENTS max_pool(__global const stored *X, __global stored *Y, __global int *best, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->out[0], g->out[1]);
	const int2 h = window_span(g, 0, item.y), w = window_span(g, 1, item.x);
	const size_t to = pool_at(&item, channels, g->out[0], g->out[1], item.y, item.x);
	int16 at = h.s0 * g->in[1] + w.s0;
	float16 most;

	if (item.n >= (uint)rows)
		return;
	pool_fetch(X, &item, channels, g->in[0], g->in[1], h.s1, g->stride[0], w);
	most = load_some(item.count, X + pool_at(&item, channels, g->in[0], g->in[1], h.s0, w.s0));
	for (int y = h.s0; y < h.s1; y++)
		for (int x = w.s0; x < w.s1; x++) {
			const float16 value =
				load_some(item.count, X + pool_at(&item, channels, g->in[0], g->in[1], y, x));
			const int16 larger = value > most || (value != value && most == most);

			most = select(most, value, larger);
			at = select(at, (int16)(y * g->in[1] + x), larger);
		}
	store_some(most, item.count, Y + to);
	if (best)
		store_best(at, item.count, best + to);
}

ELEMENTS max_pool_backward(__global const stored *DY, __global const int *best, __global const stored *pooled,
			   __global stored *DX, int add, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->in[0], g->in[1]);
	const int2 h = window_positions(g, 0, item.y), w = window_positions(g, 1, item.x);
	__global stored *dx = DX + pool_at(&item, channels, g->in[0], g->in[1], item.y, item.x);
	const size_t below = pool_at(&item, channels, g->out[0], g->out[1], h.s1, w.s0);
	float16 sum = 0;

	if (item.n >= (uint)rows)
		return;
	FETCH(DY + below)
	FETCH(best + below)
	FETCH(pooled + below)
	for (int y = h.s0; y < h.s1; y++)
		for (int x = w.s0; x < w.s1; x++) {
			const size_t from = pool_at(&item, channels, g->out[0], g->out[1], y, x);
			int16 chosen = load_best(item.count, best + from) == (int16)(int)item.at;

			if (pooled)
				chosen &= load_some(item.count, pooled + from) > (float16)(0);
			sum += select((float16)(0), load_some(item.count, DY + from), chosen);
		}
	store_some(add ? sum + load_some(item.count, dx) : sum, item.count, dx);
}

ELEMENTS average_pool(__global const stored *X, __global stored *Y, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->out[0], g->out[1]);
	const int2 h = window_span(g, 0, item.y), w = window_span(g, 1, item.x);
	float16 total = 0;

	if (item.n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++) {
		float16 sum = 0;

		for (int x = w.s0; x < w.s1; x++)
			sum += load_some(item.count, X + pool_at(&item, channels, g->in[0], g->in[1], y, x));
		total += sum;
	}
	store_some(total / ((h.s1 - h.s0) * (w.s1 - w.s0)), item.count,
		  Y + pool_at(&item, channels, g->out[0], g->out[1], item.y, item.x));
}

ELEMENTS average_pool_backward(__global const stored *DY, __global stored *DX, int add, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->in[0], g->in[1]);
	const int2 h = window_positions(g, 0, item.y), w = window_positions(g, 1, item.x);
	__global stored *dx = DX + pool_at(&item, channels, g->in[0], g->in[1], item.y, item.x);
	float16 sum = 0;

	if (item.n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++) {
		const int2 high = window_span(g, 0, y);

		for (int x = w.s0; x < w.s1; x++) {
			const int2 wide = window_span(g, 1, x);
			const size_t from = pool_at(&item, channels, g->out[0], g->out[1], y, x);

			sum += load_some(item.count, DY + from) /
			       ((high.s1 - high.s0) * (wide.s1 - wide.s0));
		}
	}
	store_some(add ? sum + load_some(item.count, dx) : sum, item.count, dx);
}

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

/* What an item computes at once: as many channels as a CPU has lanes; on other devices as many as one access loads, so that
 * neighbouring items access neighbouring numbers. layers/pool.c has the same numbers. */
#ifdef CPU_DEVICE
#define POOL_CHANNELS 16
typedef float16 pool_numbers;
typedef int16 pool_places;
#else
#define POOL_CHANNELS 4
typedef float4 pool_numbers;
typedef int4 pool_places;
#endif
#define POOL_PARAMETERS int rows, int channels, __global const struct window *g

/* The share of a work-item in [rows, height, width, channels]: in row n, at position (y, x), whose index in height *
 * width is `at`, the channels c ... c + count - 1. */
struct pool_item {
	uint n, at;
	int y, x, c, count;
	bool aligned; /* the channels are a multiple of POOL_CHANNELS */
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
	item.aligned = channels % POOL_CHANNELS == 0;
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

/* The channels of an item, and for each the index in the image of the largest number. */
#ifdef CPU_DEVICE
#define pool_load(item, p)     load_some((item)->count, p)
#define pool_store(item, x, p) store_some(x, (item)->count, p)

int16 load_best(const struct pool_item *item, __global const int *in)
{
	int lane[16] = { 0 };

	if (item->count == 16)
		return vload16(0, in);
	for (int i = 0; i < item->count; i++)
		lane[i] = in[i];
	return vload16(0, lane);
}

void store_best(const struct pool_item *item, int16 at, __global int *out)
{
	int lane[16];

	if (item->count == 16) {
		vstore16(at, 0, out);
		return;
	}
	vstore16(at, 0, lane);
	for (int i = 0; i < item->count; i++)
		out[i] = lane[i];
}
#else
#define pool_load(item, p)     load_quad((item)->aligned, (item)->count, p)
#define pool_store(item, x, p) store_quad(x, (item)->aligned, (item)->count, p)

int4 load_best(const struct pool_item *item, __global const int *in)
{
	if (item->aligned)
		return *(__global const int4 *)in;
	return (int4)(in[0], item->count > 1 ? in[1] : 0, item->count > 2 ? in[2] : 0, item->count > 3 ? in[3] : 0);
}

void store_best(const struct pool_item *item, int4 at, __global int *out)
{
	if (item->aligned) {
		*(__global int4 *)out = at;
		return;
	}
	for (int i = 0; i < item->count; i++)
		out[i] = i < 2 ? (i ? at.y : at.x) : i < 3 ? at.z : at.w;
}
#endif

ELEMENTS max_pool(__global const stored *X, __global stored *Y, __global int *best, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->out[0], g->out[1]);
	const int2 h = window_span(g, 0, item.y), w = window_span(g, 1, item.x);
	const size_t to = pool_at(&item, channels, g->out[0], g->out[1], item.y, item.x);
	pool_places at = h.s0 * g->in[1] + w.s0;
	pool_numbers most;

	if (item.n >= (uint)rows)
		return;
	pool_fetch(X, &item, channels, g->in[0], g->in[1], h.s1, g->stride[0], w);
	most = pool_load(&item, X + pool_at(&item, channels, g->in[0], g->in[1], h.s0, w.s0));
	for (int y = h.s0; y < h.s1; y++)
		for (int x = w.s0; x < w.s1; x++) {
			const pool_numbers value =
				pool_load(&item, X + pool_at(&item, channels, g->in[0], g->in[1], y, x));
			const pool_places larger = value > most || (value != value && most == most);

			most = select(most, value, larger);
			at = select(at, (pool_places)(y * g->in[1] + x), larger);
		}
	pool_store(&item, most, Y + to);
	if (best)
		store_best(&item, at, best + to);
}

ELEMENTS max_pool_backward(__global const stored *DY, __global const int *best, __global const stored *pooled,
			   __global stored *DX, int add, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->in[0], g->in[1]);
	const int2 h = window_positions(g, 0, item.y), w = window_positions(g, 1, item.x);
	__global stored *dx = DX + pool_at(&item, channels, g->in[0], g->in[1], item.y, item.x);
	const size_t below = pool_at(&item, channels, g->out[0], g->out[1], h.s1, w.s0);
	pool_numbers sum = 0;

	if (item.n >= (uint)rows)
		return;
	FETCH(DY + below)
	FETCH(best + below)
	FETCH(pooled + below)
	for (int y = h.s0; y < h.s1; y++)
		for (int x = w.s0; x < w.s1; x++) {
			const size_t from = pool_at(&item, channels, g->out[0], g->out[1], y, x);
			pool_places chosen = load_best(&item, best + from) == (pool_places)(int)item.at;

			if (pooled)
				chosen &= pool_load(&item, pooled + from) > (pool_numbers)(0);
			sum += select((pool_numbers)(0), pool_load(&item, DY + from), chosen);
		}
	pool_store(&item, add ? sum + pool_load(&item, dx) : sum, dx);
}

ELEMENTS average_pool(__global const stored *X, __global stored *Y, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->out[0], g->out[1]);
	const int2 h = window_span(g, 0, item.y), w = window_span(g, 1, item.x);
	pool_numbers total = 0;

	if (item.n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++) {
		pool_numbers sum = 0;

		for (int x = w.s0; x < w.s1; x++)
			sum += pool_load(&item, X + pool_at(&item, channels, g->in[0], g->in[1], y, x));
		total += sum;
	}
	pool_store(&item, total / ((h.s1 - h.s0) * (w.s1 - w.s0)),
		  Y + pool_at(&item, channels, g->out[0], g->out[1], item.y, item.x));
}

ELEMENTS average_pool_backward(__global const stored *DY, __global stored *DX, int add, POOL_PARAMETERS)
{
	const struct pool_item item = pool_item(channels, g->in[0], g->in[1]);
	const int2 h = window_positions(g, 0, item.y), w = window_positions(g, 1, item.x);
	__global stored *dx = DX + pool_at(&item, channels, g->in[0], g->in[1], item.y, item.x);
	pool_numbers sum = 0;

	if (item.n >= (uint)rows)
		return;
	for (int y = h.s0; y < h.s1; y++) {
		const int2 high = window_span(g, 0, y);

		for (int x = w.s0; x < w.s1; x++) {
			const int2 wide = window_span(g, 1, x);
			const size_t from = pool_at(&item, channels, g->out[0], g->out[1], y, x);

			sum += pool_load(&item, DY + from) /
			       ((high.s1 - high.s0) * (wide.s1 - wide.s0));
		}
	}
	pool_store(&item, add ? sum + pool_load(&item, dx) : sum, dx);
}

/*
 * masked_mean: Y[n][c] = mean of X[n][t][c] over the steps t whose id in `ids` [rows, steps] is not 0; 0 without such a step.
 * X, DX [rows, steps, channels], Y, DY [rows, channels]. An item has a channel of a row; the sum runs over the steps in order.
 * Backward, `add` = 1 adds to the numbers that are already in DX. Reference: masked_mean_reference() in layers/pool.c. Tolerance: steps * 2^-24.
 */
int steps_that_count(__global const long *ids, int steps)
{
	int count = 0;

	for (int t = 0; t < steps; t++)
		count += ids[t] != 0;
	return count;
}

ELEMENTS masked_mean(__global const stored *X, __global const long *ids, __global stored *Y, int rows, int steps, int channels)
{
	const uint i = get_global_id(0), n = i / channels, c = i % channels;
	float sum = 0;
	int count;

	if (n >= (uint)rows)
		return;
	ids += (size_t)n * steps;
	count = steps_that_count(ids, steps);
	for (int t = 0; t < steps; t++)
		if (ids[t] != 0)
			sum += load(((size_t)n * steps + t) * channels + c, X);
	store(count ? sum / count : 0, i, Y);
}

ELEMENTS masked_mean_backward(__global const stored *DY, __global const long *ids, __global stored *DX, int add, int rows,
			      int steps, int channels)
{
	const uint i = get_global_id(0), n = i / channels, c = i % channels;
	float share;

	if (n >= (uint)rows)
		return;
	ids += (size_t)n * steps;
	share = load(i, DY) / max(steps_that_count(ids, steps), 1);
	for (int t = 0; t < steps; t++) {
		const size_t at = ((size_t)n * steps + t) * channels + c;
		const float d = ids[t] != 0 ? share : 0;

		store(add ? load(at, DX) + d : d, at, DX);
	}
}

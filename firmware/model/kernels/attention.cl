/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of one head: y_i = sum over j of p_ij v_j, with p_i = softmax over j of scale q_i k_j, and its gradients. Scores and
 * weights p exist only in tiles in registers and local memory, as in FlashAttention (Dao et al., 2022): the forward pass keeps
 * log_sums, log sum_j exp(score_ij), and the backward pass computes the scores again:
 *   delta_i = dy_i y_i                            summed over the numbers of a value
 *   ds_ij   = scale p_ij (m_ij dy_i v_j - delta_i)
 *   dq_i = sum_j ds_ij k_j    dk_j = sum_i ds_ij q_i    dv_j = sum_i m_ij p_ij dy_i
 * where m_ij is 0 or 1 / (1 - rate), the dropout of a weight; y has it, too. With `causal`, query i sees only the keys j <= i.
 *
 * Tensors:
 *   q, dq [rows, queries, heads, size]    k, dk [rows, keys, heads, size]    log_sums, deltas [rows, heads, queries] float32
 *   v, dv [rows, keys, heads, values]     y, dy [rows, queries, heads, values]
 *
 * Work-group: on CPU devices one item, which takes ATTENTION_LANES queries (attention_key_gradients: keys) of a head, one in each
 * lane of a vector, so that no sum crosses lanes. In the kernels for GPUs, _group, 64 items that take ATTENTION_TILE queries (keys)
 * and ATTENTION_COLUMNS columns of the result. attention_query_gradients also writes `deltas`, which attention_key_gradients reads.
 * Each of these two computes the scores: so every number has one writer, and there are no partial sums.
 *
 * Reduction class: a score is summed over its numbers in order, one fma a term. All sums over keys, or over queries, take them in
 * ascending order; softmax in blocks, with the largest score so far (online softmax). Reference: layers/attention_reference.c.
 * Tolerance: (size + values + keys + queries) * 2^-24 of the sum of absolute values, times the largest score.
 */

#include "attention_tiles.h"

/* The score of a key that a query does not see: its weight is 0. */
#define ATTENTION_HIDDEN -1e30f

struct attention {
	int heads, queries, keys, size, values, causal;
	float scale, drop_scale;
	uint threshold, layer, step, first_row, key_low, key_high;
};

/* Parameters of each kernel after its tensors, and the same as a struct. A threshold of 0: there is no dropout. */
#define ATTENTION_SHAPE                                                                                              \
	int heads, int queries, int keys, int size, int values, int causal, float scale, float drop_scale,          \
		uint threshold, uint layer, uint step, uint first_row, uint key_low, uint key_high
#define ATTENTION_GIVEN                                                                                              \
	{ .heads = heads, .queries = queries, .keys = keys, .size = size, .values = values, .causal = causal,        \
	  .scale = scale, .drop_scale = drop_scale, .threshold = threshold, .layer = layer, .step = step,            \
	  .first_row = first_row, .key_low = key_low, .key_high = key_high }
#define ATTENTION_FORWARD                                                                                            \
	__global const stored *q, __global const stored *k, __global const stored *v, __global stored *y,          \
		__global float *log_sums, ATTENTION_SHAPE
#define ATTENTION_QUERIES                                                                                            \
	__global const stored *q, __global const stored *k, __global const stored *v, __global const stored *y,    \
		__global const stored *dy, __global const float *log_sums, __global float *deltas, __global stored *dq,     \
		ATTENTION_SHAPE
#define ATTENTION_KEYS                                                                                               \
	__global const stored *q, __global const stored *k, __global const stored *v, __global const stored *dy,   \
		__global const float *log_sums, __global const float *deltas, __global stored *dk, __global stored *dv,     \
		ATTENTION_SHAPE

/* The `tile` queries or keys, of `steps`, of work-group `group`: from `first` on `own` of them. */
struct attention_place {
	int row, head, first, own;
};

struct attention_place attention_place(int group, int heads, int steps, int tile)
{
	const int tiles = (steps + tile - 1) / tile;
	struct attention_place at = { .row = group / tiles / heads, .head = group / tiles % heads,
				      .first = group % tiles * tile };

	at.own = min(tile, steps - at.first);
	return at;
}

/* Returns where numbers of step `step` begin in [rows, steps, heads, size], or [rows, heads, steps]. */
size_t attention_at(struct attention_place at, int steps, int step, int heads, int size)
{
	return (((size_t)at.row * steps + step) * heads + at.head) * size;
}

size_t attention_sums_at(struct attention_place at, int heads, int queries)
{
	return ((size_t)at.row * heads + at.head) * queries;
}

/* Dropout: weights j .. j + 3 of query i, j a multiple of 4, are the four words of one counter. */
uint attention_column(const struct attention *a, int head, int i, int j)
{
	return (head * ((a->keys + 3) / 4) + j / 4) * a->queries + i;
}

#ifdef CPU_DEVICE
/* ---- CPU devices ---- */

#define ATTENTION_CPU     __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define ATTENTION_EACH4(X) X(0) X(1) X(2) X(3)
#ifdef __AVX512F__
#define ATTENTION_BLOCK   8
#define ATTENTION_EACH(X) ATTENTION_EACH4(X) X(4) X(5) X(6) X(7)
#else
#define ATTENTION_BLOCK   4 /* 8 sums of 8 lanes: as many as the multiply-adds under way at once */
#define ATTENTION_EACH(X) ATTENTION_EACH4(X)
#endif

#define ATTENTION_LANE ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

/* Reads `count` steps into the lanes of `size` vectors; the other lanes are 0. */
void lanes_read(__global const stored *from, size_t stride, int size, int count, float16 *to)
{
	float *lane = (float *)to;

	for (int d = 0; d < size; d++)
		to[d] = 0;
	for (int i = 0; i < count; i++)
		for (int d = 0; d < size; d++)
			lane[d * ATTENTION_LANES + i] = load(i * stride + d, from);
}

void lanes_write(const float16 *from, size_t stride, int size, int count, __global stored *to)
{
	const float *lane = (const float *)from;

	for (int i = 0; i < count; i++)
		for (int d = 0; d < size; d++)
			store(lane[d * ATTENTION_LANES + i], i * stride + d, to);
}

/* After the last step, the last step again: its weight is 0. */
#define LANES_STEP(r) __global const stored *b##r = b + min(r, last) * stride;
#define LANES_ZERO(r) float16 s##r = 0;
#define LANES_DOT(r)  s##r = fma(a[d], (float16)(load(d, b##r)), s##r);
#define LANES_PUT(r)  out[r] = s##r;
#define LANES_GET(r)  const float16 w##r = w[r];
#define LANES_ADD(r)  x = fma(w##r, (float16)(load(d, b##r)), x);

/* out[r] = a b_r, for a block of steps b_r. */
void lanes_dot(const float16 *a, __global const stored *b, size_t stride, int size, int last, float16 *out)
{
	ATTENTION_EACH(LANES_STEP)
	ATTENTION_EACH(LANES_ZERO)
	for (int d = 0; d < size; d++) {
		ATTENTION_EACH(LANES_DOT)
	}
	ATTENTION_EACH(LANES_PUT)
}

/* sum = sum * before + w_0 b_0 + w_1 b_1 ... */
void lanes_add(float16 *sum, float16 before, const float16 *w, __global const stored *b, size_t stride, int size, int last)
{
	ATTENTION_EACH(LANES_STEP)
	ATTENTION_EACH(LANES_GET)
	for (int d = 0; d < size; d++) {
		float16 x = sum[d] * before;

		ATTENTION_EACH(LANES_ADD)
		sum[d] = x;
	}
}

/* The factors of dropout of the weights of queries i + lane and a block of keys from j on. */
void drop_keys(const struct attention *a, struct attention_place at, int j, float16 *factor)
{
	uint16 words[4];

	for (int r = 0; r < ATTENTION_BLOCK; r += 4) {
		philox_lanes(attention_column(a, at.head, at.first, j + r) + as_uint16(ATTENTION_LANE),
			     a->first_row + at.row, a->step, a->layer, a->key_low, a->key_high, words);
		for (int w = 0; w < 4; w++)
			factor[r + w] = select((float16)0, (float16)a->drop_scale, words[w] >= a->threshold);
	}
}

/* The same of keys j + lane and a block of queries from i on. Four queries of four times four keys share a vector of counters. */
void drop_queries(const struct attention *a, struct attention_place at, int i, float16 *factor)
{
	const uint16 lane = as_uint16(ATTENTION_LANE);
	float *to = (float *)factor;
	uint16 words[4];

	for (int r = 0; r < ATTENTION_BLOCK; r += 4) {
		philox_lanes(attention_column(a, at.head, i + r, at.first) + lane / 4 * (uint)a->queries + lane % 4,
			     a->first_row + at.row, a->step, a->layer, a->key_low, a->key_high, words);
		for (int w = 0; w < 4; w++)
			for (int l = 0; l < ATTENTION_LANES; l++)
				to[(r + l % 4) * ATTENTION_LANES + l / 4 * 4 + w] =
					((const uint *)&words[w])[l] >= a->threshold ? a->drop_scale : 0;
	}
}

/* Turns products into scores. i and j: the query and the key, of which one is in the lanes; `there`: whether both exist. */
float16 score_of(const struct attention *a, float16 product, int16 i, int16 j, bool there)
{
	const int16 hidden = a->causal ? j > i : (int16)0;

	return there ? select(product * a->scale, (float16)ATTENTION_HIDDEN, hidden) : (float16)ATTENTION_HIDDEN;
}

ATTENTION_CPU attention(ATTENTION_FORWARD)
{
	const struct attention a = ATTENTION_GIVEN;
	const struct attention_place at = attention_place(get_global_id(0), heads, queries, ATTENTION_LANES);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values;
	const int16 i = at.first + ATTENTION_LANE;
	const int end = causal ? min(keys, at.first + at.own) : keys;
	float16 x[ATTENTION_SIZE_MAX], sums[ATTENTION_SIZE_MAX], p[ATTENTION_BLOCK], factor[ATTENTION_BLOCK];
	float16 most = ATTENTION_HIDDEN, total = 0;

	lanes_read(q + attention_at(at, queries, at.first, heads, size), size_stride, size, at.own, x);
	for (int d = 0; d < values; d++)
		sums[d] = 0;
	for (int j = 0; j < end; j += ATTENTION_BLOCK) {
		const int last = min(ATTENTION_BLOCK, keys - j) - 1;
		float16 top = most, before;

		lanes_dot(x, k + attention_at(at, keys, j, heads, size), size_stride, size, last, p);
		for (int r = 0; r < ATTENTION_BLOCK; r++) {
			p[r] = score_of(&a, p[r], i, j + r, r <= last);
			top = fmax(top, p[r]);
		}
		before = exp(most - top);
		most = top;
		total *= before;
		for (int r = 0; r < ATTENTION_BLOCK; r++) {
			p[r] = exp(p[r] - top);
			total += p[r];
		}
		if (threshold)
			drop_keys(&a, at, j, factor);
		for (int r = 0; threshold && r < ATTENTION_BLOCK; r++)
			p[r] *= factor[r];
		lanes_add(sums, before, p, v + attention_at(at, keys, j, heads, values), values_stride, values, last);
	}
	for (int d = 0; d < values; d++)
		sums[d] /= total;
	lanes_write(sums, values_stride, values, at.own, y + attention_at(at, queries, at.first, heads, values));
	if (log_sums)
		put_some(most + log(total), at.own, log_sums + attention_sums_at(at, heads, queries) + at.first);
}

ATTENTION_CPU attention_query_gradients(ATTENTION_QUERIES)
{
	const struct attention a = ATTENTION_GIVEN;
	const struct attention_place at = attention_place(get_global_id(0), heads, queries, ATTENTION_LANES);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     sums_at = attention_sums_at(at, heads, queries) + at.first,
		     values_at = attention_at(at, queries, at.first, heads, values);
	const float16 log_sum = get_some(at.own, log_sums + sums_at);
	const int16 i = at.first + ATTENTION_LANE;
	const int end = causal ? min(keys, at.first + at.own) : keys;
	float16 x[ATTENTION_SIZE_MAX], d_y[ATTENTION_SIZE_MAX], sums[ATTENTION_SIZE_MAX], p[ATTENTION_BLOCK],
		dp[ATTENTION_BLOCK], factor[ATTENTION_BLOCK], delta = 0;

	lanes_read(dy + values_at, values_stride, values, at.own, d_y);
	lanes_read(y + values_at, values_stride, values, at.own, x);
	for (int d = 0; d < values; d++)
		delta = fma(d_y[d], x[d], delta);
	put_some(delta, at.own, deltas + sums_at);
	lanes_read(q + attention_at(at, queries, at.first, heads, size), size_stride, size, at.own, x);
	for (int d = 0; d < size; d++)
		sums[d] = 0;
	for (int j = 0; j < end; j += ATTENTION_BLOCK) {
		const int last = min(ATTENTION_BLOCK, keys - j) - 1;
		__global const stored *block = k + attention_at(at, keys, j, heads, size);

		lanes_dot(x, block, size_stride, size, last, p);
		lanes_dot(d_y, v + attention_at(at, keys, j, heads, values), values_stride, values, last, dp);
		if (threshold)
			drop_keys(&a, at, j, factor);
		for (int r = 0; r < ATTENTION_BLOCK; r++) {
			const float16 weight = exp(score_of(&a, p[r], i, j + r, r <= last) - log_sum);

			p[r] = scale * weight * ((threshold ? dp[r] * factor[r] : dp[r]) - delta);
		}
		lanes_add(sums, 1, p, block, size_stride, size, last);
	}
	lanes_write(sums, size_stride, size, at.own, dq + attention_at(at, queries, at.first, heads, size));
}

ATTENTION_CPU attention_key_gradients(ATTENTION_KEYS)
{
	const struct attention a = ATTENTION_GIVEN;
	const struct attention_place at = attention_place(get_global_id(0), heads, keys, ATTENTION_LANES);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     size_at = attention_at(at, keys, at.first, heads, size),
		     values_at = attention_at(at, keys, at.first, heads, values);
	const int16 j = at.first + ATTENTION_LANE;
	float16 x[ATTENTION_SIZE_MAX], z[ATTENTION_SIZE_MAX], d_x[ATTENTION_SIZE_MAX], d_z[ATTENTION_SIZE_MAX];
	float16 p[ATTENTION_BLOCK], dp[ATTENTION_BLOCK], factor[ATTENTION_BLOCK];

	lanes_read(k + size_at, size_stride, size, at.own, x);
	lanes_read(v + values_at, values_stride, values, at.own, z);
	for (int d = 0; d < size; d++)
		d_x[d] = 0;
	for (int d = 0; d < values; d++)
		d_z[d] = 0;
	for (int i = causal ? at.first : 0; i < queries; i += ATTENTION_BLOCK) {
		const int last = min(ATTENTION_BLOCK, queries - i) - 1;
		const size_t sums_at = attention_sums_at(at, heads, queries) + i;
		__global const stored *block = q + attention_at(at, queries, i, heads, size),
				      *d_block = dy + attention_at(at, queries, i, heads, values);

		lanes_dot(x, block, size_stride, size, last, p);
		lanes_dot(z, d_block, values_stride, values, last, dp);
		if (threshold)
			drop_queries(&a, at, i, factor);
		for (int r = 0; r < ATTENTION_BLOCK; r++) {
			const float16 weight = exp(score_of(&a, p[r], i + r, j, r <= last) - log_sums[sums_at + min(r, last)]);

			p[r] = threshold ? weight * factor[r] : weight;
			dp[r] = scale * weight *
				((threshold ? dp[r] * factor[r] : dp[r]) - deltas[sums_at + min(r, last)]);
		}
		lanes_add(d_z, 1, p, d_block, values_stride, values, last);
		lanes_add(d_x, 1, dp, block, size_stride, size, last);
	}
	lanes_write(d_x, size_stride, size, at.own, dk + size_at);
	lanes_write(d_z, values_stride, values, at.own, dv + values_at);
}
#endif

/* ---- GPUs: item (x, y) of 8 x 8 has rows 4 y .. 4 y + 3 of a tile and columns 4 x .. 4 x + 3 ---- */

#define ATTENTION_GROUP __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
#define ATTENTION_ITEMS 64
#define ATTENTION_DEPTH 16                   /* terms of a product that are in local memory at once */
#define ATTENTION_PITCH (ATTENTION_TILE + 4) /* distance of lines in local memory, for fewer conflicts of banks */
#define ATTENTION_X     ((int)get_local_id(0) % 8)
#define ATTENTION_Y     ((int)get_local_id(0) / 8)
#define ATTENTION_FOUR  ((int4)(0, 1, 2, 3))

/* Four rows of four numbers. */
struct attention_quads {
	float4 a, b, c, d;
};

/* Four rows of the numbers 4 x .. 4 x + 3 of the columns, and of those half of ATTENTION_COLUMNS further. */
struct attention_sums {
	struct attention_quads low, high;
};

struct attention_quads quads_fma(struct attention_quads s, float4 rows, float4 columns)
{
	s.a = fma((float4)(rows.x), columns, s.a);
	s.b = fma((float4)(rows.y), columns, s.b);
	s.c = fma((float4)(rows.z), columns, s.c);
	s.d = fma((float4)(rows.w), columns, s.d);
	return s;
}

/* Reads terms `from` .. `from` + ATTENTION_DEPTH - 1 of the rows of a tile; what does not exist is 0. */
void terms_read(__global const stored *p, size_t stride, int rows, int from, int terms, __local float *to)
{
	for (int i = get_local_id(0); i < ATTENTION_TILE * ATTENTION_DEPTH; i += ATTENTION_ITEMS) {
		const int r = i / ATTENTION_DEPTH, d = i % ATTENTION_DEPTH;

		to[d * ATTENTION_PITCH + r] = r < rows && from + d < terms ? load(r * stride + from + d, p) : 0;
	}
}

/* Returns the products of all rows of tile `a` with all rows of tile `b`. `work`: local memory for terms of both. */
struct attention_quads tile_products(__global const stored *a, size_t stride_a, int rows_a, __global const stored *b,
				     size_t stride_b, int rows_b, int terms, __local float *work)
{
	__local float *lines_a = work, *lines_b = work + ATTENTION_DEPTH * ATTENTION_PITCH;
	struct attention_quads s = { 0, 0, 0, 0 };

	for (int from = 0; from < terms; from += ATTENTION_DEPTH) {
		barrier(CLK_LOCAL_MEM_FENCE);
		terms_read(a, stride_a, rows_a, from, terms, lines_a);
		terms_read(b, stride_b, rows_b, from, terms, lines_b);
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int d = 0; d < ATTENTION_DEPTH; d++)
			s = quads_fma(s, vload4(ATTENTION_Y, lines_a + d * ATTENTION_PITCH),
				      vload4(ATTENTION_X, lines_b + d * ATTENTION_PITCH));
	}
	return s;
}

/* Puts weights [rows, columns] into local memory as [columns, rows]. */
void weights_put(struct attention_quads s, __local float *weights)
{
	__local float *to = weights + 4 * ATTENTION_X * ATTENTION_PITCH + 4 * ATTENTION_Y;

	vstore4((float4)(s.a.x, s.b.x, s.c.x, s.d.x), 0, to);
	vstore4((float4)(s.a.y, s.b.y, s.c.y, s.d.y), 0, to + ATTENTION_PITCH);
	vstore4((float4)(s.a.z, s.b.z, s.c.z, s.d.z), 0, to + 2 * ATTENTION_PITCH);
	vstore4((float4)(s.a.w, s.b.w, s.c.w, s.d.w), 0, to + 3 * ATTENTION_PITCH);
}

/* sums += weights times the rows of a tile, of which `columns` columns from p on count. */
struct attention_sums sums_add(struct attention_sums sums, __local const float *weights, __global const stored *p,
			       size_t stride, int rows, int columns, __local float *work)
{
	for (int i = get_local_id(0); i < ATTENTION_TILE * ATTENTION_COLUMNS; i += ATTENTION_ITEMS) {
		const int r = i / ATTENTION_COLUMNS, c = i % ATTENTION_COLUMNS;

		work[i] = r < rows && c < columns ? load(r * stride + c, p) : 0;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = 0; r < ATTENTION_TILE; r++) {
		const float4 w = vload4(ATTENTION_Y, weights + r * ATTENTION_PITCH);

		sums.low = quads_fma(sums.low, w, vload4(ATTENTION_X, work + r * ATTENTION_COLUMNS));
		sums.high = quads_fma(sums.high, w, vload4(ATTENTION_X + 8, work + r * ATTENTION_COLUMNS));
	}
	return sums;
}

void sums_put_row(float4 low, float4 high, int columns, __global stored *to)
{
	const int left = columns - 4 * ATTENTION_X, right = left - ATTENTION_COLUMNS / 2;

	if (left > 0)
		store_quad(low, false, left, to + 4 * ATTENTION_X);
	if (right > 0)
		store_quad(high, false, right, to + 4 * ATTENTION_X + ATTENTION_COLUMNS / 2);
}

void sums_put(struct attention_sums s, size_t stride, int rows, int columns, __global stored *to)
{
	const int y = 4 * ATTENTION_Y;

	if (y < rows)
		sums_put_row(s.low.a, s.high.a, columns, to + y * stride);
	if (y + 1 < rows)
		sums_put_row(s.low.b, s.high.b, columns, to + (y + 1) * stride);
	if (y + 2 < rows)
		sums_put_row(s.low.c, s.high.c, columns, to + (y + 2) * stride);
	if (y + 3 < rows)
		sums_put_row(s.low.d, s.high.d, columns, to + (y + 3) * stride);
}

float4 four_scores(const struct attention *a, float4 product, int4 i, int4 j)
{
	const int4 hidden = (i >= a->queries) | (j >= a->keys) | (a->causal ? j > i : (int4)0);

	return select(product * a->scale, (float4)ATTENTION_HIDDEN, hidden);
}

/* Returns the factor of dropout of a weight. */
float drop_factor(const struct attention *a, struct attention_place at, int i, int j)
{
	const uint column = attention_column(a, at.head, i, j);

	return dropout_keeps(column / 16 * 64 + j % 4 * 16 + column % 16, a->first_row + at.row, a->step, a->layer,
			     a->key_low, a->key_high, a->threshold)
		       ? a->drop_scale
		       : 0;
}

float4 four_factors(const struct attention *a, struct attention_place at, int4 i, int4 j)
{
	return a->threshold ? (float4)(drop_factor(a, at, i.x, j.x), drop_factor(a, at, i.y, j.y),
				       drop_factor(a, at, i.z, j.z), drop_factor(a, at, i.w, j.w))
			    : (float4)1;
}

/* The softmax of a tile of scores, by one item for each query: scores become weights, with dropout. Returns the factor of what was
 * summed before. */
float tile_softmax(const struct attention *a, struct attention_place at, int j, __local float *scores, float *most, float *total)
{
	const int i = get_local_id(0);
	float top = *most, before;

	for (int r = 0; r < ATTENTION_TILE; r++)
		top = fmax(top, scores[r * ATTENTION_PITCH + i]);
	before = exp(*most - top);
	*most = top;
	*total *= before;
	for (int r = 0; r < ATTENTION_TILE; r++) {
		const float weight = exp(scores[r * ATTENTION_PITCH + i] - top);

		*total += weight;
		scores[r * ATTENTION_PITCH + i] =
			a->threshold ? weight * drop_factor(a, at, at.first + i, j + r) : weight;
	}
	return before;
}

struct attention_quads quads_scaled(struct attention_quads s, float4 rows)
{
	s.a *= rows.x;
	s.b *= rows.y;
	s.c *= rows.z;
	s.d *= rows.w;
	return s;
}

ATTENTION_GROUP attention_group(ATTENTION_FORWARD)
{
	__local float work[ATTENTION_TILE * ATTENTION_COLUMNS], weights[ATTENTION_TILE * ATTENTION_PITCH],
		factors[ATTENTION_TILE];
	const struct attention a = ATTENTION_GIVEN;
	const struct attention_place at = attention_place(get_group_id(0), heads, queries, ATTENTION_TILE);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values;
	const int item = get_local_id(0), column = get_group_id(1) * ATTENTION_COLUMNS,
		  end = causal ? min(keys, at.first + at.own) : keys;
	struct attention_sums sums = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
	float most = ATTENTION_HIDDEN, total = 0;

	for (int j = 0; j < end; j += ATTENTION_TILE) {
		const int own = min(ATTENTION_TILE, keys - j);
		const int4 x = j + 4 * ATTENTION_X + ATTENTION_FOUR;
		const int y = at.first + 4 * ATTENTION_Y;
		struct attention_quads s = tile_products(
			q + attention_at(at, queries, at.first, heads, size), size_stride, at.own,
			k + attention_at(at, keys, j, heads, size), size_stride, own, size, work);
		float4 before;

		s.a = four_scores(&a, s.a, y, x);
		s.b = four_scores(&a, s.b, y + 1, x);
		s.c = four_scores(&a, s.c, y + 2, x);
		s.d = four_scores(&a, s.d, y + 3, x);
		weights_put(s, weights);
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < ATTENTION_TILE)
			factors[item] = tile_softmax(&a, at, j, weights, &most, &total);
		barrier(CLK_LOCAL_MEM_FENCE);
		before = vload4(ATTENTION_Y, factors);
		sums.low = quads_scaled(sums.low, before);
		sums.high = quads_scaled(sums.high, before);
		sums = sums_add(sums, weights, v + attention_at(at, keys, j, heads, values) + column, values_stride, own,
				values - column, work);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item < ATTENTION_TILE)
		factors[item] = 1 / total;
	barrier(CLK_LOCAL_MEM_FENCE);
	sums.low = quads_scaled(sums.low, vload4(ATTENTION_Y, factors));
	sums.high = quads_scaled(sums.high, vload4(ATTENTION_Y, factors));
	sums_put(sums, values_stride, at.own, values - column,
		 y + attention_at(at, queries, at.first, heads, values) + column);
	if (log_sums && column == 0 && item < at.own)
		log_sums[attention_sums_at(at, heads, queries) + at.first + item] = most + log(total);
}

/* ds of a query and four keys; s: their products. */
float4 query_row(const struct attention *a, struct attention_place at, float4 s, float4 dp, int i, int4 j, float log_sum,
		 float delta)
{
	const float4 weight = exp(four_scores(a, s, i, j) - log_sum);

	return a->scale * weight * (dp * four_factors(a, at, i, j) - delta);
}

ATTENTION_GROUP attention_query_gradients_group(ATTENTION_QUERIES)
{
	__local float work[ATTENTION_TILE * ATTENTION_COLUMNS], weights[ATTENTION_TILE * ATTENTION_PITCH],
		log_sum[ATTENTION_TILE], delta[ATTENTION_TILE];
	const struct attention a = ATTENTION_GIVEN;
	const struct attention_place at = attention_place(get_group_id(0), heads, queries, ATTENTION_TILE);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     size_at = attention_at(at, queries, at.first, heads, size),
		     values_at = attention_at(at, queries, at.first, heads, values),
		     sums_at = attention_sums_at(at, heads, queries) + at.first;
	const int item = get_local_id(0), column = get_group_id(1) * ATTENTION_COLUMNS,
		  end = causal ? min(keys, at.first + at.own) : keys;
	struct attention_sums sums = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };

	if (item < ATTENTION_TILE) {
		const int i = min(item, at.own - 1);
		float sum = 0;

		for (int d = 0; d < values; d++)
			sum = fma(load(values_at + i * values_stride + d, dy), load(values_at + i * values_stride + d, y),
				  sum);
		delta[item] = sum;
		log_sum[item] = log_sums[sums_at + i];
		if (column == 0 && item < at.own)
			deltas[sums_at + item] = sum;
	}
	for (int j = 0; j < end; j += ATTENTION_TILE) {
		const int own = min(ATTENTION_TILE, keys - j), y_0 = 4 * ATTENTION_Y, i = at.first + y_0;
		const int4 x = j + 4 * ATTENTION_X + ATTENTION_FOUR;
		__global const stored *tile = k + attention_at(at, keys, j, heads, size);
		struct attention_quads s = tile_products(q + size_at, size_stride, at.own, tile, size_stride, own, size, work),
				       dp = tile_products(dy + values_at, values_stride, at.own,
							  v + attention_at(at, keys, j, heads, values), values_stride, own,
							  values, work);

		s.a = query_row(&a, at, s.a, dp.a, i, x, log_sum[y_0], delta[y_0]);
		s.b = query_row(&a, at, s.b, dp.b, i + 1, x, log_sum[y_0 + 1], delta[y_0 + 1]);
		s.c = query_row(&a, at, s.c, dp.c, i + 2, x, log_sum[y_0 + 2], delta[y_0 + 2]);
		s.d = query_row(&a, at, s.d, dp.d, i + 3, x, log_sum[y_0 + 3], delta[y_0 + 3]);
		weights_put(s, weights);
		barrier(CLK_LOCAL_MEM_FENCE);
		sums = sums_add(sums, weights, tile + column, size_stride, own, size - column, work);
	}
	sums_put(sums, size_stride, at.own, size - column, dq + size_at + column);
}

/* With `of_value` m p of a key and four queries, else ds. */
float4 key_row(const struct attention *a, struct attention_place at, float4 s, float4 dp, int4 i, int j, float4 log_sum,
	       float4 delta, bool of_value)
{
	const float4 weight = exp(four_scores(a, s, i, j) - log_sum), factor = four_factors(a, at, i, j);

	return of_value ? weight * factor : a->scale * weight * (dp * factor - delta);
}

/* The second dimension of the groups: the columns of dv, then those of dk. */
ATTENTION_GROUP attention_key_gradients_group(ATTENTION_KEYS)
{
	__local float work[ATTENTION_TILE * ATTENTION_COLUMNS], weights[ATTENTION_TILE * ATTENTION_PITCH];
	const struct attention a = ATTENTION_GIVEN;
	const struct attention_place at = attention_place(get_group_id(0), heads, keys, ATTENTION_TILE);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     size_at = attention_at(at, keys, at.first, heads, size),
		     values_at = attention_at(at, keys, at.first, heads, values);
	const int of_values = (values + ATTENTION_COLUMNS - 1) / ATTENTION_COLUMNS;
	const bool of_value = get_group_id(1) < of_values;
	const int column = ((int)get_group_id(1) - (of_value ? 0 : of_values)) * ATTENTION_COLUMNS;
	const int columns = (of_value ? values : size) - column;
	struct attention_sums sums = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };

	for (int i = causal ? at.first : 0; i < queries; i += ATTENTION_TILE) {
		const int own = min(ATTENTION_TILE, queries - i), j = at.first + 4 * ATTENTION_Y, x = i + 4 * ATTENTION_X,
			  there = min(x, queries - 1);
		const size_t sums_at = attention_sums_at(at, heads, queries) + there;
		const float4 log_sum = get_quad(false, queries - there, log_sums + sums_at),
			     delta = get_quad(false, queries - there, deltas + sums_at);
		__global const stored *tile = q + attention_at(at, queries, i, heads, size),
				      *d_tile = dy + attention_at(at, queries, i, heads, values);
		struct attention_quads s = tile_products(k + size_at, size_stride, at.own, tile, size_stride, own, size, work),
				       dp = { 0, 0, 0, 0 };

		if (!of_value)
			dp = tile_products(v + values_at, values_stride, at.own, d_tile, values_stride, own, values, work);
		s.a = key_row(&a, at, s.a, dp.a, x + ATTENTION_FOUR, j, log_sum, delta, of_value);
		s.b = key_row(&a, at, s.b, dp.b, x + ATTENTION_FOUR, j + 1, log_sum, delta, of_value);
		s.c = key_row(&a, at, s.c, dp.c, x + ATTENTION_FOUR, j + 2, log_sum, delta, of_value);
		s.d = key_row(&a, at, s.d, dp.d, x + ATTENTION_FOUR, j + 3, log_sum, delta, of_value);
		weights_put(s, weights);
		barrier(CLK_LOCAL_MEM_FENCE);
		sums = sums_add(sums, weights, (of_value ? d_tile : tile) + column, of_value ? values_stride : size_stride, own,
				columns, work);
	}
	if (of_value)
		sums_put(sums, values_stride, at.own, columns, dv + values_at + column);
	else
		sums_put(sums, size_stride, at.own, columns, dk + size_at + column);
}

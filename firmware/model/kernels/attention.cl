/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on CPU devices: see attention.clh. */

#include "attention.clh"

#ifdef CPU_DEVICE
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

/* Steps past the last one read the last one; their weights are 0. */
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

/* The factors of dropout of the weights of keys j + lane and a block of queries from i on. Four queries of four times four keys share a vector of counters. */
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

/* Which of the queries, or keys, at.first + lane have the id 0. */
int16 masked_lanes(__global const long *ids, struct attention_place at)
{
	int16 masked = 0;

	for (int l = 0; ids && l < at.own; l++)
		((int *)&masked)[l] = ids[at.first + l] == 0 ? -1 : 0;
	return masked;
}

/* The same of one key, in all lanes. */
int16 masked_key(const struct attention *a, int j)
{
	return a->key_ids && a->key_ids[min(j, a->keys - 1)] == 0 ? (int16)-1 : (int16)0;
}

/* Turns products into scores. i and j: the query and the key, of which one is in the lanes; `there`: whether both exist;
 * `masked`: a mask hides the key, or all keys of the query. */
float16 score_of(const struct attention *a, float16 product, int16 i, int16 j, bool there, int16 masked)
{
	const int16 hidden = a->causal ? (j > i) | masked : masked;

	return there ? select(product * a->scale, (float16)ATTENTION_HIDDEN, hidden) : (float16)ATTENTION_HIDDEN;
}

ATTENTION_CPU attention(ATTENTION_FORWARD)
{
	const struct attention_place at = attention_place(get_global_id(0), heads, queries, ATTENTION_LANES);
	const struct attention a = attention_of_row((struct attention)ATTENTION_GIVEN, at.row);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values;
	const int16 i = at.first + ATTENTION_LANE, masked = masked_lanes(a.query_ids, at);
	const int end = attention_end(&a, at);
	float16 x[ATTENTION_SIZE_MAX], sums[ATTENTION_SIZE_MAX], p[ATTENTION_BLOCK], factor[ATTENTION_BLOCK];
	float16 most = ATTENTION_LOWEST, total = 0;

	lanes_read(q + attention_at(at, queries, at.first, heads, size), size_stride, size, at.own, x);
	for (int d = 0; d < values; d++)
		sums[d] = 0;
	for (int j = 0; j < end; j += ATTENTION_BLOCK) {
		const int last = min(ATTENTION_BLOCK, keys - j) - 1;
		float16 top = most, before;

		lanes_dot(x, k + attention_at(at, keys, j, heads, size), size_stride, size, last, p);
		for (int r = 0; r < ATTENTION_BLOCK; r++) {
			p[r] = score_of(&a, p[r], i, j + r, r <= last, masked | masked_key(&a, j + r));
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
		sums[d] /= ATTENTION_DIVISOR(a, total);
	lanes_write(sums, values_stride, values, at.own, y + attention_at(at, queries, at.first, heads, values));
	if (log_sums)
		put_some(select(most + log(total), (float16)INFINITY, total == 0), at.own, log_sums + attention_sums_at(at, heads, queries) + at.first);
}

ATTENTION_CPU attention_query_gradients(ATTENTION_QUERIES)
{
	const struct attention_place at = attention_place(get_global_id(0), heads, queries, ATTENTION_LANES);
	const struct attention a = attention_of_row((struct attention)ATTENTION_GIVEN, at.row);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     sums_at = attention_sums_at(at, heads, queries) + at.first,
		     values_at = attention_at(at, queries, at.first, heads, values);
	const float16 log_sum = get_some(at.own, log_sums + sums_at);
	const int16 i = at.first + ATTENTION_LANE;
	const int end = attention_end(&a, at);
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
			const float16 weight =
				exp(score_of(&a, p[r], i, j + r, r <= last, masked_key(&a, j + r)) - log_sum);

			p[r] = scale * weight * ((threshold ? dp[r] * factor[r] : dp[r]) - delta);
		}
		lanes_add(sums, 1, p, block, size_stride, size, last);
	}
	lanes_write(sums, size_stride, size, at.own, dq + attention_at(at, queries, at.first, heads, size));
}

ATTENTION_CPU attention_key_gradients(ATTENTION_KEYS)
{
	const struct attention_place at = attention_place(get_global_id(0), heads, keys, ATTENTION_LANES);
	const struct attention a = attention_of_row((struct attention)ATTENTION_GIVEN, at.row);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     size_at = attention_at(at, keys, at.first, heads, size),
		     values_at = attention_at(at, keys, at.first, heads, values);
	const int16 j = at.first + ATTENTION_LANE, masked = masked_lanes(a.key_ids, at);
	const int end = at.first < a.keys_end ? a.queries_end : 0;
	float16 x[ATTENTION_SIZE_MAX], z[ATTENTION_SIZE_MAX], d_x[ATTENTION_SIZE_MAX], d_z[ATTENTION_SIZE_MAX];
	float16 p[ATTENTION_BLOCK], dp[ATTENTION_BLOCK], factor[ATTENTION_BLOCK];

	lanes_read(k + size_at, size_stride, size, at.own, x);
	lanes_read(v + values_at, values_stride, values, at.own, z);
	for (int d = 0; d < size; d++)
		d_x[d] = 0;
	for (int d = 0; d < values; d++)
		d_z[d] = 0;
	for (int i = causal ? at.first : 0; i < end; i += ATTENTION_BLOCK) {
		const int last = min(ATTENTION_BLOCK, queries - i) - 1;
		const size_t sums_at = attention_sums_at(at, heads, queries) + i;
		__global const stored *block = q + attention_at(at, queries, i, heads, size),
				      *d_block = dy + attention_at(at, queries, i, heads, values);

		lanes_dot(x, block, size_stride, size, last, p);
		lanes_dot(z, d_block, values_stride, values, last, dp);
		if (threshold)
			drop_queries(&a, at, i, factor);
		for (int r = 0; r < ATTENTION_BLOCK; r++) {
			const float16 weight = exp(score_of(&a, p[r], i + r, j, r <= last, masked) -
						   log_sums[sums_at + min(r, last)]);

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

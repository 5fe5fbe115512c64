/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on GPUs: see attention.clh. Item (x, y) of 8 x 8 has rows 4 y .. 4 y + 3 of a tile and columns 4 x .. 4 x + 3. */

#include "attention.clh"

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

/* Which of four steps have the id 0. */
int4 four_masked(__global const long *ids, int4 step, int steps)
{
	const int4 at = min(step, (int4)(steps - 1)); /* oclgrind has no min() of a vector and a number */

	return ids ? -(int4)(ids[at.x] == 0, ids[at.y] == 0, ids[at.z] == 0, ids[at.w] == 0) : (int4)0;
}

float4 four_scores(const struct attention *a, float4 product, int4 i, int4 j)
{
	const int4 masked = four_masked(a->query_ids, i, a->queries) | four_masked(a->key_ids, j, a->keys);
	const int4 hidden = (i >= a->queries) | (j >= a->keys) | (a->causal ? j > i : (int4)0) | masked;

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
	const struct attention_place at = attention_place(get_group_id(0), heads, queries, ATTENTION_TILE);
	const struct attention a = attention_of_row((struct attention)ATTENTION_GIVEN, at.row);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values;
	const int item = get_local_id(0), column = get_group_id(1) * ATTENTION_COLUMNS,
		  end = attention_end(&a, at);
	struct attention_sums sums = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
	float most = ATTENTION_LOWEST, total = 0;

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
		factors[item] = 1 / ATTENTION_DIVISOR(a, total);
	barrier(CLK_LOCAL_MEM_FENCE);
	sums.low = quads_scaled(sums.low, vload4(ATTENTION_Y, factors));
	sums.high = quads_scaled(sums.high, vload4(ATTENTION_Y, factors));
	sums_put(sums, values_stride, at.own, values - column,
		 y + attention_at(at, queries, at.first, heads, values) + column);
	if (log_sums && column == 0 && item < at.own)
		log_sums[attention_sums_at(at, heads, queries) + at.first + item] =
			total == 0 ? INFINITY : most + log(total);
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
	const struct attention_place at = attention_place(get_group_id(0), heads, queries, ATTENTION_TILE);
	const struct attention a = attention_of_row((struct attention)ATTENTION_GIVEN, at.row);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     size_at = attention_at(at, queries, at.first, heads, size),
		     values_at = attention_at(at, queries, at.first, heads, values),
		     sums_at = attention_sums_at(at, heads, queries) + at.first;
	const int item = get_local_id(0), column = get_group_id(1) * ATTENTION_COLUMNS,
		  end = attention_end(&a, at);
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
	const struct attention_place at = attention_place(get_group_id(0), heads, keys, ATTENTION_TILE);
	const struct attention a = attention_of_row((struct attention)ATTENTION_GIVEN, at.row);
	const size_t size_stride = (size_t)heads * size, values_stride = (size_t)heads * values,
		     size_at = attention_at(at, keys, at.first, heads, size),
		     values_at = attention_at(at, keys, at.first, heads, values);
	const int of_values = (values + ATTENTION_COLUMNS - 1) / ATTENTION_COLUMNS;
	const bool of_value = get_group_id(1) < of_values;
	const int column = ((int)get_group_id(1) - (of_value ? 0 : of_values)) * ATTENTION_COLUMNS;
	const int columns = (of_value ? values : size) - column;
	const int end = at.first < a.keys_end ? a.queries_end : 0;
	struct attention_sums sums = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };

	for (int i = causal ? at.first : 0; i < end; i += ATTENTION_TILE) {
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

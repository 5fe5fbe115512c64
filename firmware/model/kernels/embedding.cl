/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables [ids, columns] whose rows are looked up by number, and their gradient.
 *   look_up: y[r, i] = table[id[r, i]]
 *   bag: y[r] = share(n) * sum of table[id[i]], i in splits[r] .. splits[r + 1]
 *   share(n): 1, 1 / n or 1 / sqrt(n) for the n ids of a row; a row without ids gives 0
 * An id that is not within 0 .. ids - 1 adds nothing, and sets wrong[r] to 1 + its index in the row; else wrong[r] is 0.
 *
 * Gradient: the pairs (id, source) of the batch are sorted by id, stably, by the bytes of the id from the lowest. Then
 * a work-item for each distinct id adds up dy of its sources in that order. A step writes only the rows of the ids in
 * its batch. All other rows are zero, because each step first clears the rows that the step before wrote: the sorted
 * ids of that step are still in memory.
 *
 * Work-group: EMBEDDING_GROUP items; a row of a table is read in blocks of 16 columns, also past its last column
 * (TENSOR_SLACK). Reduction class: the ids of a row in order; the sources of an id in order. Everything except the sums
 * is exact. Reference: reference() in layers/embedding.c. Tolerance: n * 2^-24 relative.
 */

#define EMBEDDING_GROUP 16
#define EMBEDDING       __kernel __attribute__((reqd_work_group_size(EMBEDDING_GROUP, 1, 1))) void
#define DIGITS          256

/* How many items look for rows with an invalid id; how many sorted keys an item of the gradient takes. */
#ifdef CPU_DEVICE
#define WRONG_GROUP  1
#define GRADIENT_RUN 64
#else
#define WRONG_GROUP  64
#define GRADIENT_RUN 1
#endif

enum { SHARE_SUM, SHARE_MEAN, SHARE_SQRTN };

float share_of(int combiner, long n)
{
	if (n == 0)
		return 0;
	return combiner == SHARE_MEAN ? 1.0f / n : combiner == SHARE_SQRTN ? 1.0f / sqrt((float)n) : 1.0f;
}

void store_block(float16 x, __global float *to, int columns)
{
	float lane[16];

	if (columns >= 16) {
		put16(x, 0, to);
		return;
	}
	put16(x, 0, lane);
	for (int c = 0; c < columns; c++)
		to[c] = lane[c];
}

bool is_id(long id, int ids)
{
	return id >= 0 && id < ids;
}

/* One item for each pair of a row of the batch and a block of 16 columns. */
EMBEDDING look_up(__global const float *table, __global const long *id, __global stored *y, __global uint *wrong,
		  int rows, int per_row, int ids, int columns)
{
	const int blocks = (columns + 15) / 16;
	const size_t r = get_global_id(0) / blocks;
	const int c = get_global_id(0) % blocks * 16;
	uint bad = 0;

	if (r >= rows)
		return;
	for (int i = 0; i < per_row; i++) {
		const size_t position = r * per_row + i;
		const bool good = is_id(id[position], ids);

		store_some(good ? get16(0, table + id[position] * columns + c) : (float16)(0), columns - c,
			   y + position * columns + c);
		bad = good || bad ? bad : 1 + i;
	}
	if (c == 0)
		wrong[r] = bad;
}

EMBEDDING bag(__global const float *table, __global const long *id, __global const long *splits, __global stored *y,
	      __global uint *wrong, int rows, int ids, int columns, int combiner)
{
	const int blocks = (columns + 15) / 16;
	const size_t r = get_global_id(0) / blocks;
	const int c = get_global_id(0) % blocks * 16;
	float16 sum = 0;
	uint bad = 0;

	if (r >= rows)
		return;
	for (long i = splits[r]; i < splits[r + 1]; i++) {
		const bool good = is_id(id[i], ids);

		if (good)
			sum += get16(0, table + id[i] * columns + c);
		bad = good || bad ? bad : 1 + (uint)(i - splits[r]);
	}
	store_some(sum * share_of(combiner, splits[r + 1] - splits[r]), columns - c, y + r * columns + c);
	if (c == 0)
		wrong[r] = bad;
}

/* One work-group. Reports the invalid id of the first row that has one in `fault`, as metrics.cl describes it. splits null:
 * every row has per_row ids. `trains` is 1 in a training step, which then counts in the step of the fault. */
__kernel __attribute__((reqd_work_group_size(WRONG_GROUP, 1, 1))) void
wrong_ids(__global const uint *wrong, __global const long *id, __global const long *splits, int per_row, int rows,
	  uint node, uint first_row, uint step, int trains, __global uint *fault)
{
	__local int first_wrong;
	int r = get_local_id(0);

	if (r == 0)
		first_wrong = rows;
	barrier(CLK_LOCAL_MEM_FENCE);
	while (r < rows && !wrong[r])
		r += WRONG_GROUP;
	if (r < rows)
		atomic_min(&first_wrong, r);
	barrier(CLK_LOCAL_MEM_FENCE);
	r = first_wrong;
	if (get_local_id(0) != 0 || r == rows || fault[0])
		return;

	const size_t first = splits ? splits[r] : (size_t)r * per_row;
	const ulong found = as_ulong(id[first + wrong[r] - 1]);

	fault[0] = 4;
	fault[1] = step + trains;
	fault[2] = r;
	fault[3] = first_row + r;
	fault[4] = (uint)found;
	fault[5] = (uint)(found >> 32);
	fault[6] = node;
}

/* ---- The sort ---- */

/* One item for each row. Writes for each id: key = the id, or `ids` for an invalid id; source = its row in dy. Writes
 * count = the number of all ids. */
EMBEDDING embedding_keys(__global const long *id, __global const long *splits, int per_row, int rows, int ids,
			 __global uint *key, __global uint *source, __global uint *count)
{
	const size_t r = get_global_id(0);

	if (r >= rows)
		return;

	const size_t first = splits ? splits[r] : r * per_row, end = splits ? splits[r + 1] : first + per_row;

	for (size_t i = first; i < end; i++) {
		key[i] = is_id(id[i], ids) ? (uint)id[i] : (uint)ids;
		source[i] = splits ? (uint)r : (uint)i;
	}
	if (r + 1 == rows)
		*count = (uint)end;
}

/* One item for each chunk of keys: digits [chunk, b] = how many keys of the chunk have the value b in the byte at
 * `shift`. */
EMBEDDING sort_count(__global const uint *key, __global const uint *count, __global uint *digits, int shift, int chunk)
{
	const uint first = get_global_id(0) * chunk, end = min(first + chunk, *count);

	if (first >= end)
		return;
	digits += (size_t)get_global_id(0) * DIGITS;
	for (int d = 0; d < DIGITS; d++)
		digits[d] = 0;
	for (uint i = first; i < end; i++)
		digits[key[i] >> shift & (DIGITS - 1)]++;
}

/* One work-group; each item handles one value of the byte. Replaces each count in `digits` by the position to which the
 * first key of that chunk with that value moves. */
__kernel __attribute__((reqd_work_group_size(DIGITS, 1, 1))) void
sort_places(__global const uint *count, __global uint *digits, int chunk)
{
	__local uint total[DIGITS];
	const uint d = get_local_id(0), chunks = (*count + chunk - 1) / chunk;
	uint sum = 0, position = 0;

	for (uint c = 0; c < chunks; c++)
		sum += digits[(size_t)c * DIGITS + d];
	total[d] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < d; i++)
		position += total[i];
	for (uint c = 0; c < chunks; c++) {
		const uint here = digits[(size_t)c * DIGITS + d];

		digits[(size_t)c * DIGITS + d] = position;
		position += here;
	}
}

EMBEDDING sort_move(__global const uint *key, __global const uint *source, __global uint *key_to,
		    __global uint *source_to, __global const uint *count, __global uint *digits, int shift, int chunk)
{
	const uint first = get_global_id(0) * chunk, end = min(first + chunk, *count);

	if (first >= end)
		return;
	digits += (size_t)get_global_id(0) * DIGITS;
	for (uint i = first; i < end; i++) {
		const uint position = digits[key[i] >> shift & (DIGITS - 1)]++;

		key_to[position] = key[i];
		source_to[position] = source[i];
	}
}

/* ---- The gradient: an item takes GRADIENT_RUN positions of the sorted keys, and of these the first of each id. On
 * GPUs the rows of ids are cleared and updated in quads. ---- */

bool is_first(__global const uint *key, uint i, uint ids)
{
	return key[i] < ids && (i == 0 || key[i - 1] != key[i]);
}

#ifdef CPU_DEVICE
EMBEDDING embedding_clear(__global const uint *key, __global const uint *count, __global float *G, int ids, int columns)
{
	const uint first = get_global_id(0) * GRADIENT_RUN, end = min(first + GRADIENT_RUN, *count);

	for (uint i = first; i < end; i++)
		for (int c = 0; c < columns && is_first(key, i, ids); c++)
			G[(size_t)key[i] * columns + c] = 0;
}
#endif

/* A quad: up to four neighbouring numbers of a row. With `whole`, which needs columns % 4 == 0, it is an aligned float4. */
float4 get_quad(bool whole, int n, __global const float *p)
{
	if (whole)
		return *(__global const float4 *)p;
	return (float4)(p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0);
}

void put_quad(float4 x, bool whole, int n, __global float *p)
{
	if (whole) {
		*(__global float4 *)p = x;
		return;
	}
	p[0] = x.x;
	if (n > 1)
		p[1] = x.y;
	if (n > 2)
		p[2] = x.z;
	if (n > 3)
		p[3] = x.w;
}

/* An item takes a quad of the row of one sorted key. Returns how many numbers that are, beginning with number *at of the
 * table; 0: none, the key is not the first of its id. */
int own_quad(__global const uint *key, uint count, int ids, int columns, size_t *at)
{
	const uint quads = (columns + 3) / 4;
	const size_t i = get_global_id(0) / quads;
	const int c = get_global_id(0) % quads * 4;

	if (i >= count || !is_first(key, i, ids))
		return 0;
	*at = (size_t)key[i] * columns + c;
	return min(columns - c, 4);
}

ELEMENTS embedding_clear_quads(__global const uint *key, __global const uint *count, __global float *G, int ids, int columns)
{
	size_t at = 0;
	const int n = own_quad(key, *count, ids, columns, &at);

	if (n > 0)
		put_quad((float4)(0), columns % 4 == 0, n, G + at);
}

/* Clears the whole gradient; each item clears 16 numbers. */
EMBEDDING embedding_clear_all(__global float *G, uint elements)
{
	const size_t first = (size_t)get_global_id(0) * 16;

	if (first < elements)
		store_block((float16)(0), G + first, min(elements - (uint)first, 16u));
}

EMBEDDING embedding_gradient(__global const uint *key, __global const uint *source, __global const uint *count,
			     __global const long *splits, __global const stored *dy, __global float *G, int ids, int columns,
			     int combiner)
{
	const uint n = *count, first = get_global_id(0) * GRADIENT_RUN, end = min(first + GRADIENT_RUN, n);

	for (uint i = first; i < end; i++) {
		uint behind = i + 1;

		if (!is_first(key, i, ids))
			continue;
		while (behind < n && key[behind] == key[i])
			behind++;
		for (int c = 0; c < columns; c += 16) {
			float16 sum = 0;

			for (uint j = i; j < behind; j++) {
				const size_t r = source[j];

				sum += load16(0, dy + r * columns + c) *
				       (splits ? share_of(combiner, splits[r + 1] - splits[r]) : 1);
			}
			store_block(sum, G + (size_t)key[i] * columns + c, columns - c);
		}
	}
}

/* Adam, as in update.cl, but only on the rows whose ids are in the batch. The table begins at number `table` of the
 * parameter region. */
#ifdef CPU_DEVICE
EMBEDDING adam_rows(__global float *P, __global const float *G, __global float *M, __global float *V, uint table,
		    __global const uint *key, __global const uint *count, int ids, int columns,
		    __global uint *chunk_fault, float rate, float decay, float one_minus_beta_1,
		    float one_minus_beta_2, float epsilon, __global const float *verdict)
{
	const uint first = get_global_id(0) * GRADIENT_RUN, end = min(first + GRADIENT_RUN, *count);

	if (skips(verdict))
		return;
	rate = rate_of(verdict, rate);
	for (uint i = first; i < end; i++) {
		const size_t row = table + (size_t)key[i] * columns;

		for (size_t e = row; e < row + columns && is_first(key, i, ids); e++) {
			const float g = G[e];
			float p = P[e];

			M[e] += (g - M[e]) * one_minus_beta_1;
			V[e] += (g * g - V[e]) * one_minus_beta_2;
			p -= p * decay;
			p -= rate * M[e] / (sqrt(V[e]) + epsilon);
			P[e] = p;
			if ((as_uint(p) & 0x7f800000u) == 0x7f800000u)
				keep_fault(chunk_fault + e / (16 * FAULT_CHUNK_VECTORS), 1 + (uint)e);
		}
	}
}
#endif

ELEMENTS adam_rows_quads(__global float *P, __global const float *G, __global float *M, __global float *V, uint table,
			 __global const uint *key, __global const uint *count, int ids, int columns,
			 __global uint *chunk_fault, float rate, float decay, float one_minus_beta_1,
			 float one_minus_beta_2, float epsilon, __global const float *verdict)
{
	const bool whole = columns % 4 == 0;
	size_t at = 0;
	const int n = own_quad(key, *count, ids, columns, &at);

	if (skips(verdict) || n == 0)
		return;
	rate = rate_of(verdict, rate);
	at += table;

	const float4 g = get_quad(whole, n, G + at);
	float4 p = get_quad(whole, n, P + at), m = get_quad(whole, n, M + at), v = get_quad(whole, n, V + at);

	m += (g - m) * one_minus_beta_1;
	v += (g * g - v) * one_minus_beta_2;
	p -= p * decay;
	p -= rate * m / (sqrt(v) + epsilon);
	put_quad(m, whole, n, M + at);
	put_quad(v, whole, n, V + at);
	put_quad(p, whole, n, P + at);
	for (size_t e = at; e < at + n && any((as_uint4(p) & 0x7f800000u) == 0x7f800000u); e++)
		if ((as_uint(P[e]) & 0x7f800000u) == 0x7f800000u)
			keep_fault(chunk_fault + e / (16 * FAULT_CHUNK_VECTORS), 1 + (uint)e);
}

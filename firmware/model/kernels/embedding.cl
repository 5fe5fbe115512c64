/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables [ids, columns] whose rows are looked up by number, and their gradient.
 *   look_up: y[r, i] = table[id[r, i]]
 *   bag: y[r] = share(n) * sum of table[id[i]], i in splits[r] .. splits[r + 1]
 *   share(n): 1, 1 / n or 1 / sqrt(n) for the n ids of a row; a row without ids gives 0
 * An id that is not within 0 .. ids - 1 adds nothing, and sets wrong[r] to 1 + its index in the row; else wrong[r] is 0.
 *
 * Gradient: the pairs (id, source) of the batch are sorted by id, stably, by the bytes of the id from the lowest; a pair
 * has a place in that order. Then the dy of the sources of each id are added up. A step writes only the rows of the ids in
 * its batch. All other rows are zero, because each step first clears the rows that the step before wrote: the sorted
 * ids of that step are still in memory.
 *
 * Work-group: EMBEDDING_GROUP items, if a kernel has no other. CPU devices read a row of a table in blocks of 16 columns,
 * also past its last column (TENSOR_SLACK), GPUs in quads. Reduction class: the ids of a row in order. The sources of an
 * id: on CPU devices in order; on GPUs in segments (embedding_segments), each in order, and then the segments
 * (embedding_join). Everything except the sums is exact. Reference: reference() in layers/embedding.c. Tolerance: n * 2^-24
 * relative.
 */

#define EMBEDDING_GROUP 16
#define EMBEDDING       __kernel __attribute__((reqd_work_group_size(EMBEDDING_GROUP, 1, 1))) void
#define DIGITS          256

/* How many items look for rows with an invalid id. */
#ifdef CPU_DEVICE
#define WRONG_GROUP 1
#else
#define WRONG_GROUP 64
#endif

enum { SHARE_SUM, SHARE_MEAN, SHARE_SQRTN };

float share_of(int combiner, long n)
{
	if (n == 0)
		return 0;
	return combiner == SHARE_MEAN ? 1.0f / n : combiner == SHARE_SQRTN ? 1.0f / sqrt((float)n) : 1.0f;
}

bool is_id(long id, int ids)
{
	return id >= 0 && id < ids;
}

/* ---- Rows of the table ---- */

#ifdef CPU_DEVICE
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
#endif

/* Returns 1 + the index of the first of n ids that is invalid; 0: none is. */
uint first_invalid(__global const long *id, int n, int ids)
{
	for (int i = 0; i < n; i++)
		if (!is_id(id[i], ids))
			return 1 + i;
	return 0;
}

/* The same for GPUs: one item for each quad of the row of an id. */
ELEMENTS look_up_quads(__global const float *table, __global const long *id, __global stored *y, __global uint *wrong,
		       int rows, int per_row, int ids, int columns)
{
	const uint quads = (columns + 3) / 4;
	const size_t i = get_global_id(0) / quads;
	const int c = get_global_id(0) % quads * 4, n = min(columns - c, 4);
	const bool whole = columns % 4 == 0;

	if (i >= (size_t)rows * per_row)
		return;
	store_quad(is_id(id[i], ids) ? get_quad(whole, n, table + id[i] * columns + c) : (float4)(0), whole, n,
		   y + i * columns + c);
	if (c == 0 && i % per_row == 0)
		wrong[i / per_row] = first_invalid(id + i, per_row, ids);
}

/* The same for GPUs: one item for each quad of a row of the batch. */
ELEMENTS bag_quads(__global const float *table, __global const long *id, __global const long *splits, __global stored *y,
		   __global uint *wrong, int rows, int ids, int columns, int combiner)
{
	const uint quads = (columns + 3) / 4;
	const size_t r = get_global_id(0) / quads;
	const int c = get_global_id(0) % quads * 4, n = min(columns - c, 4);
	const bool whole = columns % 4 == 0;
	float4 sum = 0;

	if (r >= rows)
		return;

	const long first = splits[r], end = splits[r + 1];

	for (long i = first; i < end; i++)
		if (is_id(id[i], ids))
			sum += get_quad(whole, n, table + id[i] * columns + c);
	store_quad(sum * share_of(combiner, end - first), whole, n, y + r * columns + c);
	if (c == 0)
		wrong[r] = first_invalid(id + first, end - first, ids);
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

/* ---- The gradient. On CPU devices an item takes GRADIENT_RUN places of the sorted keys, and of these the first of each
 * id. On GPUs it takes a quad of a row. ---- */

#define GRADIENT_RUN 64

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
		put_some((float16)(0), min(elements - (uint)first, 16u), G + first);
}

#ifdef CPU_DEVICE
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
			put_some(sum, columns - c, G + (size_t)key[i] * columns + c);
		}
	}
}
#endif

/* For GPUs: a segment is the neighbouring places of one id within a block of SEGMENT places. Group (b, j) adds up the
 * segments of block b, SEGMENT_COLUMNS columns from SEGMENT_COLUMNS * j on, an item one quad of a place. The sum of an id's
 * first segment goes to the row of the id in G. Another segment is the first of its block; its sum goes to row b of
 * `partial`, whose rows have whole quads. */
#define SEGMENT         64
#define SEGMENT_QUADS   4
#define SEGMENT_COLUMNS (4 * SEGMENT_QUADS)
#define SEGMENT_ITEMS   (SEGMENT * SEGMENT_QUADS)

__kernel __attribute__((reqd_work_group_size(SEGMENT_ITEMS, 1, 1))) void
embedding_segments(__global const uint *key, __global const uint *source, __global const uint *count,
		   __global const long *splits, __global const stored *dy, __global float *G, __global float4 *partial,
		   int ids, int columns, int combiner)
{
	__local float4 part[SEGMENT_ITEMS];
	__local uint keys[SEGMENT];
	const int item = get_local_id(0), place = item / SEGMENT_QUADS, quad = item % SEGMENT_QUADS;
	const int c = get_group_id(1) * SEGMENT_COLUMNS + 4 * quad, n = min(columns - c, 4);
	const uint b = get_group_id(0), i = b * SEGMENT + place, id = i < *count ? key[i] : ids;
	const bool whole = columns % 4 == 0, adds = id < ids && n > 0;
	float4 sum = 0;

	if (adds) {
		const size_t r = source[i];

		sum = load_quad(whole, n, dy + r * columns + c) *
		      (splits ? share_of(combiner, splits[r + 1] - splits[r]) : 1);
	}
	part[item] = sum;
	if (quad == 0)
		keys[place] = id;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (!adds || (place > 0 && keys[place - 1] == id))
		return;
	for (int p = place + 1; p < SEGMENT && keys[p] == id; p++)
		sum += part[p * SEGMENT_QUADS + quad];
	if (is_first(key, i, ids))
		put_quad(sum, whole, n, G + (size_t)id * columns + c);
	else
		partial[(size_t)b * ((columns + 3) / 4) + c / 4] = sum;
}

/* For GPUs: adds the partial sums of an id to its row in G. Group (b, j) does so for the id whose first place is in block b
 * and whose places go on in the next block, JOIN_COLUMNS columns from JOIN_COLUMNS * j on. Line l of its items adds every
 * JOIN_LINES-th partial sum from the l-th on, in order; then the lines are added to the row in order. */
#define JOIN_LINES   16
#define JOIN_QUADS   16
#define JOIN_COLUMNS (4 * JOIN_QUADS)
#define JOIN_ITEMS   (JOIN_LINES * JOIN_QUADS)

__kernel __attribute__((reqd_work_group_size(JOIN_ITEMS, 1, 1))) void
embedding_join(__global const uint *key, __global const uint *count, __global const float4 *partial, __global float *G,
	       int ids, int columns)
{
	__local float4 part[JOIN_ITEMS];
	const int item = get_local_id(0), line = item / JOIN_QUADS;
	const int c = get_group_id(1) * JOIN_COLUMNS + item % JOIN_QUADS * 4, n = min(columns - c, 4);
	const uint places = *count, next = (get_group_id(0) + 1) * SEGMENT, id = next < places ? key[next] : ids;
	const bool joins = id < ids && key[next - 1] == id && (next == SEGMENT || key[next - SEGMENT - 1] != id);
	float4 sum = 0;

	for (uint i = next + line * SEGMENT; joins && n > 0 && i < places && key[i] == id; i += JOIN_LINES * SEGMENT)
		sum += partial[(size_t)(i / SEGMENT) * ((columns + 3) / 4) + c / 4];
	part[item] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (!joins || n <= 0 || line > 0)
		return;

	__global float *to = G + (size_t)id * columns + c;

	sum = get_quad(columns % 4 == 0, n, to);
	for (int l = 0; l < JOIN_LINES; l++)
		sum += part[l * JOIN_QUADS + item];
	put_quad(sum, columns % 4 == 0, n, to);
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

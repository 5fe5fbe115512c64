/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum over the micro-batches of a step: see model/plan/parts.h. G and S are gradient arenas. begin_part() clears the
 * first `vectors` float16 of one; add_part() and weigh_parts() compute the float16 [from, to). rows [16] = {valid rows,
 * micro-batches with a valid row, 0 ...}.
 *
 * Work-group: GRADIENT_GROUP items, a chunk of PART_CHUNK float16; or, for columns, one item for each. Sums: one
 * addition for each number, in float32. Reference: tests/unit/parts.c, to the bit.
 */

#define PART_CHUNK 256

/* OWN_PART declares the numbers (groups.cl) [first, end) of the group's chunk, of the float16 [from, to). */
#define OWN_PART(from, to)                                                                        \
	const size_t first = ((from) + (size_t)get_group_id(0) * PART_CHUNK) * (16 / WIDTH);      \
	const size_t end = min(first + PART_CHUNK * (16 / WIDTH), (size_t)(to) * (16 / WIDTH));
#define EACH_OF_PART(i) size_t i = first + get_local_id(0); i < end; i += GRADIENT_GROUP

/* Begins a micro-batch: writes its rows, and 0 into what follows them in the arena. */
GRADIENTS begin_part(__global float *rows, uint vectors, int valid_rows)
{
	OWN_PART(0, vectors)
	for (EACH_OF_PART(i))
		put_numbers((numbers)(0), i, rows);
	barrier(CLK_GLOBAL_MEM_FENCE);
	if (get_global_id(0) == 0) {
		rows[0] = valid_rows;
		rows[1] = valid_rows > 0;
	}
}

/* G = S + G of the float16 [from, to) */
GRADIENTS add_part(__global float *G, __global const float *S, uint from, uint to)
{
	OWN_PART(from, to)
	for (EACH_OF_PART(i))
		put_numbers(get_numbers(i, S) + get_numbers(i, G), i, G);
}

/* Gradients were divided by `batch_rows`: makes the float16 [from, to) of them those of the valid rows. */
GRADIENTS weigh_parts(__global float *G, uint from, uint to, __global const float *rows, float batch_rows)
{
	OWN_PART(from, to)
	const float valid = rows[0];

	if (valid == batch_rows || valid == 0)
		return;
	for (EACH_OF_PART(i))
		put_numbers(get_numbers(i, G) * (batch_rows / valid), i, G);
}

/* state = state * momentum + (sum / micro-batches with a valid row) * (1 - momentum) */
ELEMENTS average_parts(__global float *state, __global const float *sum, __global const float *rows, float momentum,
		       float one_minus_momentum, int columns)
{
	const int c = get_global_id(0);

	if (c < columns && rows[1] > 0)
		state[c] = state[c] * momentum + sum[c] / rows[1] * one_minus_momentum;
}

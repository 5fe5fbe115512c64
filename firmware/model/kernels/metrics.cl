/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last kernel of a pass: adds the batch to the metric sums and looks for numbers that are NaN or infinite. On CPU
 * devices `metrics`, one work-item; on other devices `metrics_group`, one group, which has the same bits.
 *   loss_sum [parts][2] += row losses, as sum and compensation (Kahan)
 *   correct_sum, top_sum (may be null), rows_sum [parts]: exact integers, counted from the bits of row_hit
 *   part: which of these sums the batch adds to, 0 .. parts - 1. Without rows nothing is added.
 *   penalty: the penalties of the parameters, which are added to the loss of each valid row; null: there are none
 *   fault [7] = {what, step, ...}: only the first fault is written. `what` is 0 = no fault
 *     1 = the loss
 *     2 = a parameter: {element}
 *     3 = a number of a label, in `whole` or `real`, that is not within 0 .. limit - 1: {row of the batch, row of the
 *         pass, the number as its low and high word or as a float, its element in the label}
 *     4 = an id, see embedding.cl; 5 = the loss scale, see loss_scale.cl
 * `step` is the number of training steps before this pass. The step of a fault is `step` + 1 in a training step
 * (`training` 1), else `step`. chunk_fault [chunks] is written by the optimizer's kernel: 0, or 1 + the index of an element of
 * the chunk that is NaN or infinite.
 *
 * Reduction class: rows in chunks of ROW_CHUNK, then the chunks. Reference: tests/reference.h. Tolerance: rows * 2^-24
 * relative. NaN is tested on the bits as integers, so that no assumption of a compiler about floats can change the
 * result.
 */

#define ROW_CHUNK 32

bool not_finite(float x)
{
	return (as_uint(x) & 0x7f800000u) == 0x7f800000u;
}

#define METRICS_PARAMETERS                                                                                            \
	__global const float *row_loss, __global const uint *row_hit, int rows, int valid_rows,                       \
		__global float *loss_sum, __global long *correct_sum, __global long *top_sum, __global long *rows_sum, \
		__global const long *whole, __global const float *real, int label_elements, int limit, uint first_row, \
		__global const float *penalty, __global const uint *chunk_fault, int chunks, int training, uint step, \
		uint part, __global uint *fault
#define METRICS_GIVEN                                                                                                 \
	rows, valid_rows, loss_sum + 2 * part, correct_sum + part, top_sum ? top_sum + part : top_sum,                \
		rows_sum + part, whole, real, label_elements, limit, first_row, penalty, step + training, fault

/* What the rows of a batch add: their losses, and how many are correct. `wrong` is the first row with a wrong label; -1:
 * there is none. */
struct batch_sums {
	float loss;
	uint correct, top;
	int wrong;
};

/* Counts row r; rows are counted in ascending order. */
void add_hit(uint hit, int r, struct batch_sums *sums)
{
	sums->correct += (hit & ROW_HIT) != 0;
	sums->top += (hit & ROW_TOP) != 0;
	sums->wrong = sums->wrong < 0 && (hit & ROW_WRONG) ? r : sums->wrong;
}

/* Adds the batch and writes the first fault, of step `step`. `faulty` is the first entry of chunk_fault that is not 0, or
 * 0. */
void add_batch(struct batch_sums sums, uint faulty, int rows, int valid_rows, __global float *loss_sum, __global long *correct_sum,
	       __global long *top_sum, __global long *rows_sum, __global const long *whole, __global const float *real,
	       int label_elements, int limit, uint first_row, __global const float *penalty, uint step,
	       __global uint *fault)
{
	const float total = penalty ? sums.loss + *penalty * valid_rows : sums.loss;

	if (rows) {
		const float term = total - loss_sum[1];
		const float sum = loss_sum[0] + term;

		loss_sum[1] = (sum - loss_sum[0]) - term;
		loss_sum[0] = sum;
		*correct_sum += sums.correct;
		if (top_sum)
			*top_sum += sums.top;
		*rows_sum += valid_rows;
	}
	if (fault[0])
		return;
	if (sums.wrong >= 0) {
		const size_t label = (size_t)sums.wrong * label_elements;
		int e = 0;

		while (e < label_elements - 1 && !is_wrong_label(whole, real, label + e, limit))
			e++;

		const ulong found = whole ? as_ulong(whole[label + e]) : as_uint(real[label + e]);

		fault[0] = 3;
		fault[1] = step;
		fault[2] = sums.wrong;
		fault[3] = first_row + sums.wrong;
		fault[4] = (uint)found;
		fault[5] = (uint)(found >> 32);
		fault[6] = e;
	} else if (not_finite(total)) {
		fault[0] = 1;
		fault[1] = step;
	} else if (faulty) {
		fault[0] = 2;
		fault[1] = step;
		fault[2] = faulty - 1;
	}
}

#ifdef CPU_DEVICE
/* Adds a chunk of rows; returns the sum of their losses. */
float add_rows(__global const float *row_loss, __global const uint *row_hit, int from, int to, struct batch_sums *sums)
{
	float partial = 0;

	for (int r = from; r < to; r++) {
		partial += row_loss[r];
		add_hit(row_hit[r], r, sums);
	}
	return partial;
}

SINGLE metrics(GROUP_ID METRICS_PARAMETERS)
{
	struct batch_sums sums = { 0, 0, 0, -1 };
	uint faulty = 0;

	for (int r = 0; r < rows; r += ROW_CHUNK)
		sums.loss += add_rows(row_loss, row_hit, r, min(rows, r + ROW_CHUNK), &sums);
	for (int c = 0; c < chunks && !faulty; c++)
		faulty = chunk_fault[c];
	add_batch(sums, faulty, METRICS_GIVEN);
}
#endif

#define METRICS_GROUP 256
/* Rows and their chunks that the group adds at once. */
#define METRICS_ROWS   2048
#define METRICS_CHUNKS (METRICS_ROWS / ROW_CHUNK)
/* Where local memory has a row: one number apart, so that each chunk begins in another bank. */
#define PLACE(r) ((r) + (r) / ROW_CHUNK)

/* Returns the sum of the first `rows` losses of a chunk. */
float chunk_loss(__local const float *loss, int rows)
{
	float partial = 0;

	for (int r = 0; r < min(rows, ROW_CHUNK); r++)
		partial += loss[r];
	return partial;
}

/* An item loads so many times four entries of chunk_fault at the same time. */
#define FAULT_LOADS 8

/* Sets *faulty to the least index of an entry of chunk_fault that is not 0, if that is less. An item searches its entries
 * only if one of them is not 0. The last four may lie in the slack after the table. */
void find_fault(__global const uint *chunk_fault, int chunks, __local int *faulty)
{
	const int first = 4 * get_local_id(0);
	uint4 found = 0;

	for (int c = first; c < chunks; c += FAULT_LOADS * 4 * METRICS_GROUP)
		_Pragma("unroll") for (int i = 0; i < FAULT_LOADS; i++)
		{
			const int at = c + i * 4 * METRICS_GROUP;

			found |= *(__global const uint4 *)(chunk_fault + (at < chunks ? at : c));
		}
	for (int c = first; any(found != 0) && c < chunks; c += 4 * METRICS_GROUP)
		for (int e = c; e < min(c + 4, chunks); e++)
			if (chunk_fault[e])
				atomic_min(faulty, e);
}

/* The items load rows, neighbours at the same time; each of the first ones sums a chunk of them, and the first item adds
 * these sums in order. */
__kernel __attribute__((reqd_work_group_size(METRICS_GROUP, 1, 1))) void metrics_group(METRICS_PARAMETERS)
{
	__local float loss[PLACE(METRICS_ROWS)], partial[METRICS_CHUNKS];
	__local int correct, top, wrong, faulty;
	const int item = get_local_id(0);
	struct batch_sums sums = { 0, 0, 0, -1 }, own = sums;

	if (item == 0) {
		correct = top = 0;
		wrong = rows;
		faulty = chunks;
	}
	for (int first = 0; first < rows; first += METRICS_ROWS) {
		const int left = min(rows - first, METRICS_ROWS);

		for (int r = item; r < left; r += METRICS_GROUP) {
			loss[PLACE(r)] = row_loss[first + r];
			add_hit(row_hit[first + r], first + r, &own);
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item * ROW_CHUNK < left)
			partial[item] = chunk_loss(loss + PLACE(item * ROW_CHUNK), left - item * ROW_CHUNK);
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; item == 0 && i * ROW_CHUNK < left; i++)
			sums.loss += partial[i];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&correct, (int)own.correct);
	atomic_add(&top, (int)own.top);
	if (own.wrong >= 0)
		atomic_min(&wrong, own.wrong);
	find_fault(chunk_fault, chunks, &faulty);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item != 0)
		return;
	sums.correct = correct;
	sums.top = top;
	sums.wrong = wrong < rows ? wrong : -1;
	add_batch(sums, faulty < chunks ? chunk_fault[faulty] : 0, METRICS_GIVEN);
}

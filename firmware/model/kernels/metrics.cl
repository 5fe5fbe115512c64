/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last kernel of a pass: adds the batch to the metric sums and looks for numbers that are NaN or infinite. On CPU
 * devices `metrics`, one work-item; on other devices `metrics_group`, one group, which has the same bits.
 *   loss_sum [2] += row losses, as sum and compensation (Kahan)
 *   correct_sum, top_sum (may be null), rows_sum: exact integers, counted from the bits of row_hit
 *   penalty: the penalties of the parameters, which are added to the loss of each valid row; null: there are none
 *   fault [7] = {what, step, ...}: only the first fault is written. `what` is 0 = no fault
 *     1 = the loss
 *     2 = a parameter: {element}
 *     3 = a number of a label, in `whole` or `real`, that is not within 0 .. limit - 1: {row of the batch, row of the
 *         pass, the number as its low and high word or as a float, its element in the label}
 *     4 = an id, see embedding.cl; 5 = the loss scale, see loss_scale.cl
 * `step` is the number of training steps before this pass. The step of a fault is `step` + 1 in a training step (chunks
 * > 0), else `step`. chunk_fault [chunks] is written by the optimizer's kernel: 0, or 1 + the index of an element of
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
		__global const float *penalty, __global const uint *chunk_fault, int chunks, uint step,               \
		__global uint *fault
#define METRICS_GIVEN                                                                                                 \
	valid_rows, loss_sum, correct_sum, top_sum, rows_sum, whole, real, label_elements, limit, first_row, penalty, \
		chunks, step, fault

/* What the rows of a batch add: their losses, and how many are correct. `wrong` is the first row with a wrong label; -1:
 * there is none. */
struct batch_sums {
	float loss;
	uint correct, top;
	int wrong;
};

/* Adds a chunk of rows; returns the sum of their losses. */
float add_rows(__global const float *row_loss, __global const uint *row_hit, int from, int to, struct batch_sums *sums)
{
	float partial = 0;

	for (int r = from; r < to; r++) {
		partial += row_loss[r];
		sums->correct += (row_hit[r] & ROW_HIT) != 0;
		sums->top += (row_hit[r] & ROW_TOP) != 0;
		sums->wrong = sums->wrong < 0 && (row_hit[r] & ROW_WRONG) ? r : sums->wrong;
	}
	return partial;
}

/* Adds the batch and writes the first fault. `faulty` is the first entry of chunk_fault that is not 0, or 0. */
void add_batch(struct batch_sums sums, uint faulty, int valid_rows, __global float *loss_sum, __global long *correct_sum,
	       __global long *top_sum, __global long *rows_sum, __global const long *whole, __global const float *real,
	       int label_elements, int limit, uint first_row, __global const float *penalty, int chunks, uint step,
	       __global uint *fault)
{
	const float total = penalty ? sums.loss + *penalty * valid_rows : sums.loss;
	const float term = total - loss_sum[1];
	const float sum = loss_sum[0] + term;

	loss_sum[1] = (sum - loss_sum[0]) - term;
	loss_sum[0] = sum;
	*correct_sum += sums.correct;
	if (top_sum)
		*top_sum += sums.top;
	*rows_sum += valid_rows;
	if (fault[0])
		return;
	if (sums.wrong >= 0) {
		const size_t label = (size_t)sums.wrong * label_elements;
		int e = 0;

		while (e < label_elements - 1 && !is_wrong_label(whole, real, label + e, limit))
			e++;

		const ulong found = whole ? as_ulong(whole[label + e]) : as_uint(real[label + e]);

		fault[0] = 3;
		fault[1] = step + (chunks > 0);
		fault[2] = sums.wrong;
		fault[3] = first_row + sums.wrong;
		fault[4] = (uint)found;
		fault[5] = (uint)(found >> 32);
		fault[6] = e;
	} else if (not_finite(total)) {
		fault[0] = 1;
		fault[1] = step + (chunks > 0);
	} else if (faulty) {
		fault[0] = 2;
		fault[1] = step + 1;
		fault[2] = faulty - 1;
	}
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

#define METRICS_GROUP 256

/* Each item sums chunks of rows, and the first item adds these sums in order. */
__kernel __attribute__((reqd_work_group_size(METRICS_GROUP, 1, 1))) void metrics_group(METRICS_PARAMETERS)
{
	__local float partial[METRICS_GROUP];
	__local int correct, top, wrong, faulty;
	const int item = get_local_id(0);
	struct batch_sums sums = { 0, 0, 0, -1 }, own = sums;

	if (item == 0) {
		correct = top = 0;
		wrong = rows;
		faulty = chunks;
	}
	for (int first = 0; first < rows; first += METRICS_GROUP * ROW_CHUNK) {
		const int from = first + item * ROW_CHUNK;

		barrier(CLK_LOCAL_MEM_FENCE);
		partial[item] = add_rows(row_loss, row_hit, from, min(rows, from + ROW_CHUNK), &own);
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; item == 0 && i < METRICS_GROUP && first + i * ROW_CHUNK < rows; i++)
			sums.loss += partial[i];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&correct, (int)own.correct);
	atomic_add(&top, (int)own.top);
	if (own.wrong >= 0)
		atomic_min(&wrong, own.wrong);
	for (int c = item; c < chunks; c += METRICS_GROUP)
		if (chunk_fault[c]) {
			atomic_min(&faulty, c);
			break;
		}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item != 0)
		return;
	sums.correct = correct;
	sums.top = top;
	sums.wrong = wrong < rows ? wrong : -1;
	add_batch(sums, faulty < chunks ? chunk_fault[faulty] : 0, METRICS_GIVEN);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last kernel of a pass, one work-item: adds the batch to the metric sums and looks for numbers that are NaN or
 * infinite.
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

SINGLE metrics(GROUP_ID __global const float *row_loss, __global const uint *row_hit, int rows, int valid_rows,
	__global float *loss_sum, __global long *correct_sum, __global long *top_sum,
	__global long *rows_sum, __global const long *whole, __global const float *real, int label_elements, int limit, uint first_row,
	__global const float *penalty, __global const uint *chunk_fault, int chunks, uint step, __global uint *fault)
{
	float total = 0;
	uint correct = 0, top = 0;
	int wrong = -1;

	for (int r0 = 0; r0 < rows; r0 += ROW_CHUNK) {
		float partial = 0;

		for (int r = r0; r < min(rows, r0 + ROW_CHUNK); r++) {
			partial += row_loss[r];
			correct += (row_hit[r] & ROW_HIT) != 0;
			top += (row_hit[r] & ROW_TOP) != 0;
			wrong = wrong < 0 && (row_hit[r] & ROW_WRONG) ? r : wrong;
		}
		total += partial;
	}

	if (penalty)
		total += *penalty * valid_rows;

	const float term = total - loss_sum[1];
	const float sum = loss_sum[0] + term;

	loss_sum[1] = (sum - loss_sum[0]) - term;
	loss_sum[0] = sum;
	*correct_sum += correct;
	if (top_sum)
		*top_sum += top;
	*rows_sum += valid_rows;
	if (fault[0])
		return;
	if (wrong >= 0) {
		const size_t label = (size_t)wrong * label_elements;
		int e = 0;

		while (e < label_elements - 1 && !is_wrong_label(whole, real, label + e, limit))
			e++;

		const ulong found = whole ? as_ulong(whole[label + e]) : as_uint(real[label + e]);

		fault[0] = 3;
		fault[1] = step + (chunks > 0);
		fault[2] = wrong;
		fault[3] = first_row + wrong;
		fault[4] = (uint)found;
		fault[5] = (uint)(found >> 32);
		fault[6] = e;
	} else if (not_finite(total)) {
		fault[0] = 1;
		fault[1] = step + (chunks > 0);
	}
	for (int c = 0; c < chunks && !fault[0]; c++)
		if (chunk_fault[c]) {
			fault[0] = 2;
			fault[1] = step + 1;
			fault[2] = chunk_fault[c] - 1;
		}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross-entropies of each row of [rows, outputs] on CPU devices; row_losses.cl has those of GPUs. Work-group: 16 rows,
 * one item for each row, but one item for all rows in a SINGLE kernel; sums run over the outputs in order.
 *
 * Every kernel has the same parameters:
 *   z             logits where the formula contains the last layer's softmax or sigmoid, else the outputs
 *   whole, real   the label as integers or floats (the other is null), [rows, outputs]; with by_class whole [rows]
 *   empty         1 = the row has loss 0, no hit, gradient 0; may be null
 *   sample        [rows] sample weights; may be null
 *   class_weight  [classes] weight of the rows of each class; may be null
 *   row_loss, row_hit (ROW_HIT | ROW_TOP | ROW_WRONG), dz (may be null): results
 *   scale         the loss scale, a factor of dz; null: 1
 *   weight        1 / valid rows, another factor of dz
 *   smoothing, shape, ones, zeros   struct loss_settings of losses.h
 * For an invalid label (no class; for a cross-entropy, a number not within 0 .. 1) the kernel sets ROW_WRONG and writes
 * nothing else of the row.
 *
 * Other losses: focal_losses.cl, number_losses.cl. References: loss_rows.c. Tolerance: 2^-20 relative (exp, log: 3 ulp,
 * and one rounding per output).
 */

#include "loss_rows.clh"

/* How many rows the item of a SINGLE kernel computes: exp() and log() of a vector of 16 numbers take no longer than of one
 * number. */
#define LANE_ROWS ROW_GROUP
typedef float16 lanes;
#define lanes_of(lane)    get16(0, lane)
#define to_lanes(x, lane) put16(x, 0, lane)

/* outputs_at() and labels_at() load output c, or its label, of LANE_ROWS rows from row r on. Row r + last is the last
 * one; it is loaded again instead of rows after it. */
lanes outputs_at(__global const stored *z, size_t r, int last, int outputs, int c)
{
	float lane[LANE_ROWS];

	for (int i = 0; i < LANE_ROWS; i++)
		lane[i] = load((r + min(i, last)) * outputs + c, z);
	return lanes_of(lane);
}

lanes labels_at(__global const long *whole, __global const float *real, int by_class, size_t r, int last, int outputs,
		int c)
{
	float lane[LANE_ROWS];

	for (int i = 0; i < LANE_ROWS; i++)
		lane[i] = label_at(whole, real, by_class, r + min(i, last), outputs, c);
	return lanes_of(lane);
}

/* Softmax and categorical cross-entropy in one formula, with y = label * (1 - smoothing) + smoothing / outputs:
 *   loss = sum_c y_c * ((log sum exp(z - max z) + max z) - z_c),  dz = p * sum y - y */
SINGLE softmax_crossentropy(GROUP_ID LOSS_PARAMETERS)
{
	const size_t r0 = (size_t)group_id(0) * LANE_ROWS;
	const int last = min((long)LANE_ROWS, rows - (long)r0) - 1;
	const float spread = smoothing / outputs;

	if (last < 0)
		return;

	lanes most = outputs_at(z, r0, last, outputs, 0), sum = 0, labels = 0, loss = 0;
	float losses[LANE_ROWS], counts[LANE_ROWS] = { 0 }, lane[LANE_ROWS];
	bool counted[LANE_ROWS];

	for (int c = 1; c < outputs; c++) {
		const lanes x = outputs_at(z, r0, last, outputs, c);

		most = x > most ? x : most;
	}
	for (int c = 0; c < outputs; c++)
		sum += exp(outputs_at(z, r0, last, outputs, c) - most);

	const lanes log_sum = log(sum) + most;

	for (int c = 0; c < outputs; c++) {
		const lanes y = labels_at(whole, real, by_class, r0, last, outputs, c) * (1 - smoothing) + spread;

		loss += y * (log_sum - outputs_at(z, r0, last, outputs, c));
		labels += y;
	}
	to_lanes(loss, losses);
	for (int i = 0; i <= last; i++) {
		const size_t r = r0 + i;
		const bool wrong = !is_empty(empty, r) && is_wrong_row(whole, real, by_class, r, outputs);
		const bool none = wrong || is_empty(empty, r);
		const long wanted = none ? 0 : wanted_class(whole, real, by_class, r, outputs);

		counted[i] = !none;
		counts[i] = row_weight(sample, class_weight, r, wanted, outputs);
		row_loss[r] = none ? 0 : losses[i] * counts[i];
		row_hit[r] = wrong ? ROW_WRONG
			     : none ? 0
				    : hits(z + r * outputs, outputs,
					   label_at(whole, real, by_class, r, outputs, 0), wanted, by_class, top);
	}
	weight *= scale_of(scale);
	for (int c = 0; dz && c < outputs; c++) {
		const lanes y = labels_at(whole, real, by_class, r0, last, outputs, c) * (1 - smoothing) + spread;
		const lanes p = exp(outputs_at(z, r0, last, outputs, c) - most) / sum;

		to_lanes((p * labels - y) * lanes_of(counts) * weight, lane);
		for (int i = 0; i <= last; i++)
			store(counted[i] ? lane[i] : 0, (r0 + i) * outputs + c, dz);
	}
}

/* Sigmoid and binary cross-entropy in one formula, with y = label * (1 - smoothing) + smoothing / 2:
 *   loss = mean over outputs of max(z, 0) - z y + log(1 + exp(-|z|)),  dz = (1 / (1 + exp(-z)) - y) / outputs */
LOSS sigmoid_crossentropy(LOSS_PARAMETERS)
{
	const size_t r = get_global_id(0);
	float loss = 0;

	if (r >= rows)
		return;

	const bool wrong = !is_empty(empty, r) && is_wrong_row(whole, real, 0, r, outputs);
	const bool none = wrong || is_empty(empty, r);
	const long wanted = none ? 0 : wanted_class(whole, real, 0, r, outputs);
	const float counts = row_weight(sample, class_weight, r, wanted, max(2, outputs));

	z += r * outputs;
	weight *= scale_of(scale);
	for (int c = 0; c < outputs; c++) {
		const float y = label_at(whole, real, 0, r, outputs, c) * (1 - smoothing) + 0.5f * smoothing;

		loss += (load(c, z) > 0 ? load(c, z) : 0) - load(c, z) * y + log1p(exp(-fabs(load(c, z))));
		if (dz)
			store(none ? 0 : (1 / (1 + exp(-load(c, z))) - y) * counts * weight / outputs,
			      r * outputs + c, dz);
	}
	row_loss[r] = none ? 0 : loss / outputs * counts;
	row_hit[r] = wrong ? ROW_WRONG
		     : none ? 0
			    : hits(z, outputs, label_at(whole, real, 0, r, outputs, 0), wanted, 0, top);
}

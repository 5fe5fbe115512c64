/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross-entropies of each row of [rows, outputs] on GPUs. Work-group and order of sums: rows.clh. Formulae, parameters, references
 * and tolerances: losses.cl.
 */
#include "row_labels.clh"

ROW_KERNEL softmax_crossentropy_group(LOSS_PARAMETERS)
{
	__local label labels[ROW_ITEMS];
	__local float mosts[ROW_ITEMS];
	__local float4 partial[ROW_ITEMS];
	const struct row row = own_row(rows, outputs);
	const label of = read_label(whole, real, by_class, row, labels);
	const struct judged judged = judge(of, whole, real, by_class, empty, sample, class_weight, row, outputs);
	const float spread = smoothing / outputs, total = SUM(of) * (1 - smoothing) + smoothing;
	float most = -INFINITY;
	float4 parts = 0; /* sum of exp(z - max z), of y * (max z - z), outputs ahead of the wanted one */

	z += row.index * outputs;
	FOR_FOURS(c, row)
		most = LARGER(most_of_four(load_four(z, c, row, -INFINITY)), most);
	most = most_of_row(most, row, mosts);

	const float wanted = wanted_output(z, INDEX(of), row);

	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, -INFINITY);
		const int4 at = columns_of(c, row);
		const float4 y = label_four(whole, real, by_class, INDEX(of), c, row) * (1 - smoothing) + spread;

		parts.x += sum_of_four(exp(x - most));
		parts.y += sum_of_four(select((float4)(0), y * (most - x), at < outputs));
		parts.zw += ahead_four(x, at, wanted, INDEX(of));
	}
	parts = parts_of_row(parts, row, partial);
	finish_row(parts.y + log(parts.x) * total, row_hits(z, MOST(of), parts.zw, by_class, top, row), judged, row, row_loss,
		   row_hit);
	if (!dz)
		return;
	dz += row.index * outputs;
	weight *= scale_of(scale);
	FOR_FOURS(c, row) {
		const float4 y = label_four(whole, real, by_class, INDEX(of), c, row) * (1 - smoothing) + spread;
		const float4 p = exp(load_four(z, c, row, 0) - most) / parts.x;

		store_four(judged.none ? (float4)(0) : (p * total - y) * judged.weight * weight, dz, c, row);
	}
}

ROW_KERNEL sigmoid_crossentropy_group(LOSS_PARAMETERS)
{
	__local label labels[ROW_ITEMS];
	__local float4 partial[ROW_ITEMS];
	const struct row row = own_row(rows, outputs);
	const label of = read_label(whole, real, 0, row, labels);
	const struct judged judged =
		judge(of, whole, real, 0, empty, sample, class_weight, row, max(2, outputs));
	float4 parts = 0; /* the loss, 0, outputs ahead of the wanted one */

	z += row.index * outputs;
	dz = dz ? dz + row.index * outputs : dz;
	weight *= scale_of(scale);

	const float wanted = wanted_output(z, INDEX(of), row);

	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, -INFINITY);
		const int4 at = columns_of(c, row);
		const float4 y = label_four(whole, real, 0, 0, c, row) * (1 - smoothing) + 0.5f * smoothing;
		const float4 loss = select((float4)(0), x, x > 0) - x * y + log1p(exp(-fabs(x)));

		parts.x += sum_of_four(select((float4)(0), loss, at < outputs));
		parts.zw += ahead_four(x, at, wanted, INDEX(of));
		if (dz)
			store_four(judged.none ? (float4)(0)
					       : (1 / (1 + exp(-x)) - y) * judged.weight * weight / outputs,
				   dz, c, row);
	}
	parts = parts_of_row(parts, row, partial);
	finish_row(parts.x / outputs, row_hits(z, MOST(of), parts.zw, 0, top, row), judged, row, row_loss, row_hit);
}

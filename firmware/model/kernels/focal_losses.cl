/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Focal cross-entropies (Lin et al., 2017, in Keras's form) of each row of [rows, outputs]: a cross-entropy in which a row
 * that is nearly right counts less, by the power `shape` of its distance. First the kernels of CPU devices, then those of
 * GPUs. Work-groups, order of sums, parameters: losses.cl and rows.clh. References: loss_rows.c. Tolerance: as in losses.cl,
 * and 16 ulp for each power.
 */
#include "loss_rows.clh"
#include "row_labels.clh"

/* Returns (loss, derivative by z) of a logit z with label y. p = sigmoid(z), far = the distance of p and y:
 *   loss = weight * far^shape * crossentropy(z, y),  weight = y * ones + (1 - y) * zeros */
float2 sigmoid_focal_at(float z, float y, float shape, float ones, float zeros)
{
	const float p = 1 / (1 + exp(-z)), q = 1 / (1 + exp(z));
	const float entropy = (z > 0 ? z : 0) - z * y + log1p(exp(-fabs(z)));
	const float weight = y * ones + (1 - y) * zeros, far = max(y * q + (1 - y) * p, 1e-7f);
	const float power = pow(far, shape - 1);

	return weight * power * (float2)(far * entropy, far * (p - y) + shape * (1 - 2 * y) * p * q * entropy);
}

/* Returns (loss, part h of the derivative) of a logit z with label y of a softmax; dz = h - p * sum of h:
 *   loss = -ones * y * (1 - p)^shape * log p */
float2 softmax_focal_at(float z, float y, float of_all, float shape, float ones)
{
	const float log_p = z - of_all, p = exp(log_p), far = max(-expm1(log_p), 1e-7f);
	const float power = pow(far, shape - 1);

	return y * ones * power * (float2)(-far * log_p, shape * p * log_p - far);
}

LOSS softmax_focal(LOSS_PARAMETERS)
{
	const size_t r = get_global_id(0);
	const float spread = smoothing / outputs;
	float most, of_all = 0;
	float2 sum = 0;

	if (r >= rows)
		return;

	const bool wrong = !is_empty(empty, r) && is_wrong_row(whole, real, 0, r, outputs);
	const bool none = wrong || is_empty(empty, r);
	const long wanted = none ? 0 : wanted_class(whole, real, 0, r, outputs);
	const float counts = row_weight(sample, class_weight, r, wanted, outputs);

	z += r * outputs;
	most = load(0, z);
	for (int c = 1; c < outputs; c++)
		most = load(c, z) > most ? load(c, z) : most;
	for (int c = 0; c < outputs; c++)
		of_all += exp(load(c, z) - most);
	of_all = log(of_all) + most;
	for (int c = 0; c < outputs; c++) {
		const float y = label_at(whole, real, 0, r, outputs, c) * (1 - smoothing) + spread;

		sum += softmax_focal_at(load(c, z), y, of_all, shape, ones);
	}
	row_loss[r] = none ? 0 : sum.x * counts;
	row_hit[r] = wrong ? ROW_WRONG
		     : none ? 0
			    : hits(z, outputs, label_at(whole, real, 0, r, outputs, 0), wanted, 0, top);
	weight *= scale_of(scale);
	for (int c = 0; dz && c < outputs; c++) {
		const float y = label_at(whole, real, 0, r, outputs, c) * (1 - smoothing) + spread;
		const float d = softmax_focal_at(load(c, z), y, of_all, shape, ones).y - exp(load(c, z) - of_all) * sum.y;

		store(none ? 0 : d * counts * weight, r * outputs + c, dz);
	}
}

LOSS sigmoid_focal(LOSS_PARAMETERS)
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
		const float2 of = sigmoid_focal_at(load(c, z), y, shape, ones, zeros);

		loss += of.x;
		if (dz)
			store(none ? 0 : of.y * counts * weight / outputs, r * outputs + c, dz);
	}
	row_loss[r] = none ? 0 : loss / outputs * counts;
	row_hit[r] = wrong ? ROW_WRONG
		     : none ? 0
			    : hits(z, outputs, label_at(whole, real, 0, r, outputs, 0), wanted, 0, top);
}

/* ---- GPUs: four outputs at a time ---- */

/* Returns the losses, or the derivatives, of four (loss, derivative). */
#define LOSS_OF(a)  (float4)(a[0].x, a[1].x, a[2].x, a[3].x)
#define SLOPE_OF(a) (float4)(a[0].y, a[1].y, a[2].y, a[3].y)

ROW_KERNEL softmax_focal_group(LOSS_PARAMETERS)
{
	__local label labels[ROW_ITEMS];
	__local float mosts[ROW_ITEMS];
	__local float4 partial[ROW_ITEMS];
	const struct row row = own_row(rows, outputs);
	const label of = read_label(whole, real, 0, row, labels);
	const struct judged judged = judge(of, whole, real, 0, empty, sample, class_weight, row, outputs);
	const float spread = smoothing / outputs;
	float most = -INFINITY, of_all = 0;
	float4 parts = 0; /* loss, sum of h, outputs ahead of the wanted one */

	z += row.index * outputs;
	FOR_FOURS(c, row)
		most = LARGER(most_of_four(load_four(z, c, row, -INFINITY)), most);
	most = most_of_row(most, row, mosts);
	FOR_FOURS(c, row)
		of_all += sum_of_four(exp(load_four(z, c, row, -INFINITY) - most));
	of_all = log(sum_of_row(of_all, row, mosts)) + most;

	const float wanted = wanted_output(z, INDEX(of), row);

	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, 0);
		const float4 y = label_four(whole, real, 0, 0, c, row) * (1 - smoothing) + spread;
		const int4 at = columns_of(c, row);
		const float2 a[] = { softmax_focal_at(x.x, y.x, of_all, shape, ones),
				     softmax_focal_at(x.y, y.y, of_all, shape, ones),
				     softmax_focal_at(x.z, y.z, of_all, shape, ones),
				     softmax_focal_at(x.w, y.w, of_all, shape, ones) };

		parts.x += sum_of_four(select((float4)(0), LOSS_OF(a), at < outputs));
		parts.y += sum_of_four(select((float4)(0), SLOPE_OF(a), at < outputs));
		parts.zw += ahead_four(select((float4)(-INFINITY), x, at < outputs), at, wanted, INDEX(of));
	}
	parts = parts_of_row(parts, row, partial);
	finish_row(parts.x, row_hits(z, MOST(of), parts.zw, 0, top, row), judged, row, row_loss, row_hit);
	if (!dz)
		return;
	dz += row.index * outputs;
	weight *= scale_of(scale);
	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, 0);
		const float4 y = label_four(whole, real, 0, 0, c, row) * (1 - smoothing) + spread;
		const float2 a[] = { softmax_focal_at(x.x, y.x, of_all, shape, ones),
				     softmax_focal_at(x.y, y.y, of_all, shape, ones),
				     softmax_focal_at(x.z, y.z, of_all, shape, ones),
				     softmax_focal_at(x.w, y.w, of_all, shape, ones) };
		const float4 d = SLOPE_OF(a) - exp(x - of_all) * parts.y;

		store_four(judged.none ? (float4)(0) : d * judged.weight * weight, dz, c, row);
	}
}

ROW_KERNEL sigmoid_focal_group(LOSS_PARAMETERS)
{
	__local label labels[ROW_ITEMS];
	__local float4 partial[ROW_ITEMS];
	const struct row row = own_row(rows, outputs);
	const label of = read_label(whole, real, 0, row, labels);
	const struct judged judged = judge(of, whole, real, 0, empty, sample, class_weight, row, max(2, outputs));
	float4 parts = 0; /* the loss, 0, outputs ahead of the wanted one */

	z += row.index * outputs;
	dz = dz ? dz + row.index * outputs : dz;
	weight *= scale_of(scale);

	const float wanted = wanted_output(z, INDEX(of), row);

	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, 0);
		const int4 at = columns_of(c, row);
		const float4 y = label_four(whole, real, 0, 0, c, row) * (1 - smoothing) + 0.5f * smoothing;
		const float2 a[] = { sigmoid_focal_at(x.x, y.x, shape, ones, zeros),
				     sigmoid_focal_at(x.y, y.y, shape, ones, zeros),
				     sigmoid_focal_at(x.z, y.z, shape, ones, zeros),
				     sigmoid_focal_at(x.w, y.w, shape, ones, zeros) };

		parts.x += sum_of_four(select((float4)(0), LOSS_OF(a), at < outputs));
		parts.zw += ahead_four(select((float4)(-INFINITY), x, at < outputs), at, wanted, INDEX(of));
		if (dz)
			store_four(judged.none ? (float4)(0) : SLOPE_OF(a) * judged.weight * weight / outputs, dz, c, row);
	}
	parts = parts_of_row(parts, row, partial);
	finish_row(parts.x / outputs, row_hits(z, MOST(of), parts.zw, 0, top, row), judged, row, row_loss, row_hit);
}

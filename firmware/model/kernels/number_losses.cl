/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of numbers: of each row of [rows, outputs], without hits. First the formulae, then the kernels of CPU devices, then
 * those of GPUs. Work-groups, order of sums, parameters: losses.cl and rows.clh. References: loss_rows.c. Tolerance: as in
 * losses.cl.
 */
#include "loss_rows.clh"
#include "row_labels.clh"

#define KERAS_EPSILON 1e-7f

/* ---- Formulae: (loss, derivative by z) of an output z with label y ---- */

float2 squared_at(float z, float y, float shape)
{
	return (float2)((z - y) * (z - y), 2 * (z - y));
}

float2 absolute_at(float z, float y, float shape)
{
	return (float2)(fabs(z - y), sign(z - y));
}

float2 huber_at(float z, float y, float delta)
{
	const float d = z - y;

	return fabs(d) <= delta ? (float2)(0.5f * d * d, d)
				: (float2)(delta * fabs(d) - 0.5f * delta * delta, delta * sign(d));
}

float2 log_cosh_at(float z, float y, float shape)
{
	const float d = z - y;

	return (float2)(fabs(d) + log1p(exp(-2 * fabs(d))) - M_LN2_F, tanh(d));
}

float2 poisson_at(float z, float y, float shape)
{
	return (float2)(z - y * log(z + KERAS_EPSILON), 1 - y / (z + KERAS_EPSILON));
}

/* The label 0 counts as -1. */
float2 hinge_at(float z, float y, float shape)
{
	const float side = y == 0 ? -1 : y, margin = 1 - side * z;

	return margin > 0 ? (float2)(margin, -side) : (float2)(margin != margin ? margin : 0, 0);
}

float2 squared_hinge_at(float z, float y, float shape)
{
	const float2 hinge = hinge_at(z, y, shape);

	return (float2)(hinge.x * hinge.x, 2 * hinge.x * hinge.y);
}

/* Both numbers are clipped to 1e-7 .. 1. A NaN stays a NaN. */
float2 divergence_at(float z, float y, float shape)
{
	const float p = z < KERAS_EPSILON ? KERAS_EPSILON : z > 1 ? 1 : z;
	const float q = y < KERAS_EPSILON ? KERAS_EPSILON : y > 1 ? 1 : y;

	return (float2)(q * log(q / p), p == z ? -q / p : 0);
}

/* ---- CPU devices ---- */

/* Makes a kernel of a formula; `divisor` divides the sum over the outputs. */
#define LOSS_KERNEL(name, formula, divisor)                                                                            \
	LOSS name(LOSS_PARAMETERS)                                                                                     \
	{                                                                                                              \
		const size_t r = get_global_id(0);                                                                     \
		float loss = 0;                                                                                        \
                                                                                                                       \
		if (r >= rows)                                                                                         \
			return;                                                                                        \
                                                                                                                       \
		const bool none = is_empty(empty, r);                                                                  \
		const long wanted = none ? 0 : wanted_class(whole, real, 0, r, outputs);                               \
		const float counts = row_weight(sample, class_weight, r, wanted, max(2, outputs));                     \
                                                                                                                       \
		z += r * outputs;                                                                                      \
		weight *= scale_of(scale);                                                                             \
		for (int c = 0; c < outputs; c++) {                                                                    \
			const float2 of = formula(load(c, z), label_at(whole, real, 0, r, outputs, c), shape);         \
                                                                                                                       \
			loss += of.x;                                                                                  \
			if (dz)                                                                                        \
				store(none ? 0 : of.y * counts * weight / (divisor), r * outputs + c, dz);             \
		}                                                                                                      \
		row_loss[r] = none ? 0 : loss / (divisor) * counts;                                                    \
		row_hit[r] = 0;                                                                                        \
	}

LOSS_KERNEL(squared_error, squared_at, outputs)
LOSS_KERNEL(absolute_error, absolute_at, outputs)
LOSS_KERNEL(huber_error, huber_at, outputs)
LOSS_KERNEL(log_cosh_error, log_cosh_at, outputs)
LOSS_KERNEL(poisson_error, poisson_at, outputs)
LOSS_KERNEL(hinge_error, hinge_at, outputs)
LOSS_KERNEL(squared_hinge_error, squared_hinge_at, outputs)
LOSS_KERNEL(divergence, divergence_at, 1)

/* Returns 1 / the norm of a row, from the sum of its squares; at most 1 / epsilon. */
float inverse_norm(float square)
{
	return 1 / sqrt(square < KERAS_EPSILON * KERAS_EPSILON ? KERAS_EPSILON * KERAS_EPSILON : square);
}

/* With c = the cosine, a = 1 / |z| and b = 1 / |y|: loss = -c, dz = -a (b y - c a z). Returns c a, which is 0 where the norm
 * of z is below epsilon: the norm counts as constant there. */
float cosine_shrink(float cosine, float by_z)
{
	return by_z < 0.999999f / KERAS_EPSILON ? cosine * by_z : 0;
}

LOSS cosine_distance(LOSS_PARAMETERS)
{
	const size_t r = get_global_id(0);
	float3 sum = 0; /* z z, y y, z y */

	if (r >= rows)
		return;

	const bool none = is_empty(empty, r);
	const long wanted = none ? 0 : wanted_class(whole, real, 0, r, outputs);
	const float counts = row_weight(sample, class_weight, r, wanted, max(2, outputs));

	z += r * outputs;
	weight *= scale_of(scale);
	for (int c = 0; c < outputs; c++) {
		const float x = load(c, z), y = label_at(whole, real, 0, r, outputs, c);

		sum += (float3)(x * x, y * y, x * y);
	}

	const float by_z = inverse_norm(sum.x), by_y = inverse_norm(sum.y), cosine = sum.z * by_z * by_y;
	const float shrink = cosine_shrink(cosine, by_z);

	row_loss[r] = none ? 0 : -cosine * counts;
	row_hit[r] = 0;
	for (int c = 0; dz && c < outputs; c++)
		store(none ? 0
			   : -by_z * (by_y * label_at(whole, real, 0, r, outputs, c) - shrink * load(c, z)) * counts * weight,
		      r * outputs + c, dz);
}

/* ---- GPUs ---- */

/* Returns how a row counts; its label may be any number. */
struct judged judge_numbers(LABELS, struct row row, __local label *labels)
{
	label of = 0;

	if (class_weight)
		of = read_label(whole, real, 0, row, labels);
	WRONG(of) = 0;
	return judge(of, whole, real, by_class, empty, sample, class_weight, row, max(2, row.columns));
}

#define LOSS_ROW_KERNEL(name, formula, divisor)                                                                      \
	ROW_KERNEL name(LOSS_PARAMETERS)                                                                               \
	{                                                                                                              \
		__local label labels[ROW_ITEMS];                                                                       \
		__local float partial[ROW_ITEMS];                                                                      \
		const struct row row = own_row(rows, outputs);                                                         \
		const struct judged judged =                                                                           \
			judge_numbers(whole, real, by_class, empty, sample, class_weight, row, labels);                \
		float sum = 0;                                                                                         \
                                                                                                                       \
		z += row.index * outputs;                                                                              \
		dz = dz ? dz + row.index * outputs : dz;                                                               \
		weight *= scale_of(scale);                                                                             \
		FOR_FOURS(c, row)                                                                                      \
		{                                                                                                      \
			const float4 x = load_four(z, c, row, 0), y = label_four(whole, real, 0, 0, c, row);           \
			const float2 a = formula(x.x, y.x, shape), b = formula(x.y, y.y, shape),                       \
				     d = formula(x.z, y.z, shape), e = formula(x.w, y.w, shape);                       \
                                                                                                                       \
			sum += sum_of_four(select((float4)(0), (float4)(a.x, b.x, d.x, e.x),                           \
						  columns_of(c, row) < outputs));                                      \
			if (dz)                                                                                        \
				store_four(judged.none ? (float4)(0)                                                   \
						       : (float4)(a.y, b.y, d.y, e.y) * judged.weight * weight /       \
								 (divisor),                                            \
					   dz, c, row);                                                                \
		}                                                                                                      \
		sum = sum_of_row(sum, row, partial);                                                                   \
		finish_row(sum / (divisor), 0, judged, row, row_loss, row_hit);                                        \
	}

LOSS_ROW_KERNEL(squared_error_group, squared_at, outputs)
LOSS_ROW_KERNEL(absolute_error_group, absolute_at, outputs)
LOSS_ROW_KERNEL(huber_error_group, huber_at, outputs)
LOSS_ROW_KERNEL(log_cosh_error_group, log_cosh_at, outputs)
LOSS_ROW_KERNEL(poisson_error_group, poisson_at, outputs)
LOSS_ROW_KERNEL(hinge_error_group, hinge_at, outputs)
LOSS_ROW_KERNEL(squared_hinge_error_group, squared_hinge_at, outputs)
LOSS_ROW_KERNEL(divergence_group, divergence_at, 1)

ROW_KERNEL cosine_distance_group(LOSS_PARAMETERS)
{
	__local label labels[ROW_ITEMS];
	__local float4 partial[ROW_ITEMS];
	const struct row row = own_row(rows, outputs);
	const struct judged judged = judge_numbers(whole, real, by_class, empty, sample, class_weight, row, labels);
	float4 sum = 0; /* z z, y y, z y */

	z += row.index * outputs;
	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, 0), y = label_four(whole, real, 0, 0, c, row);

		sum += (float4)(sum_of_four(x * x), sum_of_four(y * y), sum_of_four(x * y), 0);
	}
	sum = parts_of_row(sum, row, partial);

	const float by_z = inverse_norm(sum.x), by_y = inverse_norm(sum.y), cosine = sum.z * by_z * by_y;
	const float shrink = cosine_shrink(cosine, by_z);

	finish_row(-cosine, 0, judged, row, row_loss, row_hit);
	if (!dz)
		return;
	dz += row.index * outputs;
	weight *= scale_of(scale);
	FOR_FOURS(c, row) {
		const float4 x = load_four(z, c, row, 0), y = label_four(whole, real, 0, 0, c, row);

		store_four(judged.none ? (float4)(0) : -by_z * (by_y * y - shrink * x) * judged.weight * weight, dz, c, row);
	}
}

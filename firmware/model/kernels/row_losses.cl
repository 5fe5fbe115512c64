/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of each row of [rows, outputs] on GPUs. Work-group and order of sums: rows.clh. Formulae, parameters, references
 * and tolerances: losses.cl.
 */
#include "rows.clh"

/* The content of a label as a vector, so that a lane loads it from local memory by one access. */
typedef int4 label;
#define MOST(of)  as_float((of).x) /* the largest number of the label; with by_class 1 */
#define SUM(of)   as_float((of).y) /* the sum of the numbers of the label; with by_class 1 */
#define INDEX(of) ((of).z)         /* the index of the wanted output: the class, or the first of the largest numbers */
#define WRONG(of) ((of).w)         /* not 0: the label is invalid for a cross-entropy */

label label_of(float most, float sum, int index, int wrong)
{
	return (label)(as_int(most), as_int(sum), index, wrong);
}

label join_labels(label a, label b)
{
	const bool later = MOST(b) > MOST(a) || (MOST(b) == MOST(a) && INDEX(b) < INDEX(a));

	return label_of(later ? MOST(b) : MOST(a), SUM(a) + SUM(b), later ? INDEX(b) : INDEX(a), WRONG(a) | WRONG(b));
}
ROW_TREE(label_of_row, label, join_labels)
ROW_TREE(parts_of_row, float4, PLUS)

/* Returns the numbers of the label for the turn `c`; `index` is used with by_class alone. */
float4 label_four(__global const long *whole, __global const float *real, int by_class, int index, int c, struct row row)
{
	if (by_class)
		return select((float4)(0), (float4)(1), columns_of(c, row) == index);
	return whole ? longs_four(whole + row.index * row.columns, c, row, 0)
		     : floats_four(real + row.index * row.columns, c, row, 0);
}

/* Returns what four more numbers add to a label. */
label add_four(label own, float4 y, int4 at, int columns)
{
	const float4 counted = select((float4)(-INFINITY), y, at < columns);
	const float most = most_of_four(counted);
	/* Not a component of `at`, which some compilers would load from an array in memory. */
	const int place = counted.x == most ? 0 : counted.y == most ? 1 : counted.z == most ? 2 : 3;
	const bool more = most > MOST(own);
	/* The bits: a NaN is invalid, -0 is valid. */
	const uint4 bits = as_uint4(y);
	const int4 wrong = bits > as_uint(1.0f) && bits != 0x80000000u;

	return label_of(more ? most : MOST(own), SUM(own) + sum_of_four(y), more ? at.x + place * (at.y - at.x) : INDEX(own),
			WRONG(own) | wrong.x | wrong.y | wrong.z | wrong.w);
}

label read_label(__global const long *whole, __global const float *real, int by_class, struct row row,
		 __local label *partial)
{
	label own = label_of(-INFINITY, 0, 0, 0);

	if (by_class) {
		const bool wrong = row.end && is_wrong_label(whole, real, row.index, row.columns);

		return label_of(1, 1, row.end && !wrong ? (int)whole[row.index] : 0, wrong);
	}
	FOR_FOURS(c, row)
		own = add_four(own, label_four(whole, real, 0, 0, c, row), columns_of(c, row), row.columns);
	return label_of_row(own, row, partial);
}

/* How a row counts. */
struct judged {
	bool none, wrong; /* no loss, hit and gradient; an invalid label */
	float weight;
};

struct judged judge(label own, LABELS, struct row row, int classes)
{
	const bool none = !row.end || is_empty(empty, row.index), wrong = !none && WRONG(own);
	struct judged judged = { none || wrong, wrong, 0 };

	if (!judged.none)
		judged.weight = row_weight(sample, class_weight, row.index,
					   row.columns == 1 ? wanted_class(whole, real, by_class, row.index, 1) : INDEX(own),
					   classes);
	return judged;
}

/* Whether the row has one logit, which says 0 or 1. */
bool has_one(int by_class, struct row row)
{
	return row.columns == 1 && !by_class;
}

/* Returns the output that the label means; `index` is less than the number of outputs. */
float wanted_output(__global const stored *z, int index, struct row row)
{
	return row.end ? load(index, z) : 0;
}

/* Returns how many of four outputs are above the wanted one, and how many equal it and are before it. */
float2 ahead_four(float4 z, int4 at, float wanted, int index)
{
	const int4 above = z > wanted, before = z == wanted && at < index;

	return -(float2)(above.x + above.y + above.z + above.w, before.x + before.y + before.z + before.w);
}

/* Returns the bits ROW_HIT and ROW_TOP; `most` is the largest number of the label, `ahead` the sum of ahead_four(). */
uint row_hits(__global const stored *z, float most, float2 ahead, int by_class, int top, struct row row)
{
	if (row.end && has_one(by_class, row))
		return one_hit(load(0, z), most, top);
	return (ahead.x == 0 && ahead.y == 0 ? ROW_HIT : 0) | (ahead.x < top ? ROW_TOP : 0);
}

void finish_row(float loss, uint hit, struct judged judged, struct row row, __global float *row_loss,
		__global uint *row_hit)
{
	if (row.first != 0 || !row.end)
		return;
	row_loss[row.index] = judged.none ? 0 : loss * judged.weight;
	row_hit[row.index] = judged.wrong ? ROW_WRONG : judged.none ? 0 : hit;
}

ROW_KERNEL softmax_crossentropy_group(__global const stored *z, LABELS, __global float *row_loss, __global uint *row_hit,
				      __global stored *dz, __global const float *scale, float weight, int rows, int outputs,
				      float smoothing, int top)
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

ROW_KERNEL sigmoid_crossentropy_group(__global const stored *z, LABELS, __global float *row_loss, __global uint *row_hit,
				      __global stored *dz, __global const float *scale, float weight, int rows, int outputs,
				      float smoothing, int top)
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

ROW_KERNEL squared_error_group(__global const stored *z, LABELS, __global float *row_loss, __global uint *row_hit,
			       __global stored *dz, __global const float *scale, float weight, int rows, int outputs,
			       float smoothing, int top)
{
	__local label labels[ROW_ITEMS];
	__local float partial[ROW_ITEMS];
	const struct row row = own_row(rows, outputs);
	label of = 0;
	float sum = 0;

	if (class_weight)
		of = read_label(whole, real, 0, row, labels);
	WRONG(of) = 0;

	const struct judged judged =
		judge(of, whole, real, 0, empty, sample, class_weight, row, max(2, outputs));

	z += row.index * outputs;
	dz = dz ? dz + row.index * outputs : dz;
	weight *= scale_of(scale);
	FOR_FOURS(c, row) {
		const float4 d = load_four(z, c, row, 0) - label_four(whole, real, 0, 0, c, row);

		sum += sum_of_four(d * d);
		if (dz)
			store_four(judged.none ? (float4)(0) : 2 * d * judged.weight * weight / outputs, dz, c, row);
	}
	sum = sum_of_row(sum, row, partial);
	finish_row(sum / outputs, 0, judged, row, row_loss, row_hit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and weights of rows, bits of row_hit, which the losses write and the metrics read; and the test for invalid
 * labels. losses.cl describes the parameters. */

#define ROW_HIT   1
#define ROW_TOP   2
#define ROW_WRONG 4

/* Returns whether number e of a label is not within 0 .. limit - 1. A float is tested by its bits, so that a NaN is
 * invalid and -0 is valid. */
bool is_wrong_label(__global const long *whole, __global const float *real, size_t e, int limit)
{
	const uint bits = whole ? 0 : as_uint(real[e]);

	return whole ? whole[e] < 0 || whole[e] >= limit : bits > as_uint((float)(limit - 1)) && bits != 0x80000000u;
}

#define LABELS                                                                                                      \
	__global const long *whole, __global const float *real, int by_class, __global const uchar *empty,          \
		__global const float *sample, __global const float *class_weight

#define LOSS_PARAMETERS                                                                                             \
	__global const stored *z, LABELS, __global float *row_loss, __global uint *row_hit, __global stored *dz,    \
		__global const float *scale, float weight, int rows, int outputs, float smoothing, float shape,     \
		float ones, float zeros, int top

/* Returns the row's label for output c. */
float label_at(__global const long *whole, __global const float *real, int by_class, size_t r, int outputs, int c)
{
	if (by_class)
		return whole[r] == c;
	return whole ? (float)whole[r * outputs + c] : real[r * outputs + c];
}

/* Returns the class that the label means: with by_class the label itself; with one output 0 or 1; else the index of the
 * largest number of the label. */
long wanted_class(__global const long *whole, __global const float *real, int by_class, size_t r, int outputs)
{
	int wanted = 0;

	if (by_class)
		return whole[r];
	if (outputs == 1)
		return whole ? whole[r] : convert_long_rte(real[r]);
	for (int c = 1; c < outputs; c++)
		wanted = label_at(whole, real, 0, r, outputs, c) > label_at(whole, real, 0, r, outputs, wanted)
				 ? c
				 : wanted;
	return wanted;
}

/* Returns the weight of the row: its sample weight times the weight of its class; a weight that is not given is 1. */
float row_weight(__global const float *sample, __global const float *class_weight, size_t r, long wanted, int classes)
{
	return (class_weight && wanted >= 0 && wanted < classes ? class_weight[wanted] : 1) * (sample ? sample[r] : 1);
}

/* Returns the bits ROW_HIT and ROW_TOP of a row with one logit. A hit: the logit is above 0 and the label is 1, or
 * neither. */
uint one_hit(float z, float label, int top)
{
	const bool hit = (z > 0 ? 1.0f : 0.0f) == label;

	return (hit ? ROW_HIT : 0) | (hit || top > 1 ? ROW_TOP : 0);
}

float scale_of(__global const float *scale)
{
	return scale ? *scale : 1;
}

bool is_empty(__global const uchar *empty, size_t r)
{
	return empty && empty[r];
}

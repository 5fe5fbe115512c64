/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss scale: see model/learn/loss_scale.h. G is the region of the gradients, `vectors` float16.
 *   scale [1], steps [2] = {finite steps since the scale changed, skipped steps of the run}
 *   bad [chunks of SCALE_CHUNK vectors]: 1 = the chunk has a NaN or an infinity, tested on bits; else 0
 *   verdict [4] = {0 = the step is skipped, else 1; factor of the gradients, 0 = all become 0; factor of the learning
 *   rate; factor of the momentum of the moving average}
 * Work-group: GRADIENT_GROUP items; a group checks a chunk, or computes the verdict. Tolerance: exact, except for the
 * factor of the learning rate: 2^-20 relative. Reference: tests/unit/precision.c.
 */

#define SCALE_CHUNK 256
#define SCALE_GROWS 2000
#define SCALE_MOST  0x1p100f

GRADIENTS check_gradients(__global const float *G, uint vectors, __global uint *bad)
{
	__local float partial[GRADIENT_GROUP];
	const size_t first = (size_t)get_group_id(0) * SCALE_CHUNK, end = min(first + SCALE_CHUNK, (size_t)vectors);
	uint16 most = 0;

	for (size_t i = first + get_local_id(0); i < end; i += GRADIENT_GROUP)
		most = max(most, EXPONENTS(get16(i, G)));

	const float found = group_sum(any(most == 0x7f800000u) ? 1 : 0, partial);

	if (get_local_id(0) == 0)
		bad[get_group_id(0)] = found > 0;
}

/* Returns the factor at update t = 1, 2, ...: of Adam sqrt(1 - beta_2^t) / (1 - beta_1^t); with one_minus_beta_2 0, for
 * Adamax, 1 / (1 - beta_1^t) */
float correction(float one_minus_beta_1, float one_minus_beta_2, float t)
{
	const float root = one_minus_beta_2 > 0 ? sqrt(-expm1(t * log1p(-one_minus_beta_2))) : 1;

	return root / -expm1(t * log1p(-one_minus_beta_1));
}

/* `skips` 1: a step with a gradient that is not finite updates nothing, and the optimizer does not count it; 0: the
 * gradients of such a step become 0. one_minus_beta_1 0: the optimizer's learning rate does not depend on the number of
 * updates. Writes fault 5 (metrics.cl) if the scale falls below 1. */
GRADIENTS adapt_scale(__global const uint *bad, int chunks, __global float *scale, __global long *steps,
		      __global float *verdict, int skips, float one_minus_beta_1, float one_minus_beta_2, uint step,
		      __global uint *fault)
{
	__local float partial[GRADIENT_GROUP];
	float found = 0;

	for (int c = get_local_id(0); c < chunks; c += GRADIENT_GROUP)
		found += bad[c];
	found = group_sum(found, partial);
	if (get_local_id(0) != 0)
		return;

	const float t = step + 1, counted = t - steps[1];

	verdict[0] = found == 0 || !skips;
	verdict[1] = found == 0 ? 1 / *scale : 0;
	verdict[2] = one_minus_beta_1 > 0 && steps[1] ? correction(one_minus_beta_1, one_minus_beta_2, counted) /
								correction(one_minus_beta_1, one_minus_beta_2, t)
						      : 1;
	verdict[3] = counted > 1;
	if (found > 0) {
		*scale /= 2;
		steps[0] = 0;
		steps[1] += skips;
	} else if (++steps[0] == SCALE_GROWS) {
		*scale = min(*scale * 2, SCALE_MOST);
		steps[0] = 0;
	}
	if (*scale < 1 && !fault[0]) {
		fault[0] = 5;
		fault[1] = step + 1;
	}
}

GRADIENTS unscale_gradients(__global float *G, uint vectors, __global const float *verdict)
{
	const size_t first = (size_t)get_group_id(0) * SCALE_CHUNK, end = min(first + SCALE_CHUNK, (size_t)vectors);
	const float by = verdict[1];

	for (size_t i = first + get_local_id(0); i < end; i += GRADIENT_GROUP)
		put16(by > 0 ? get16(i, G) * by : (float16)(0), i, G);
}

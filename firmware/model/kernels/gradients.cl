/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that change the gradients between the backward pass and the optimizer: see model/learn/gradients.h. P, G and
 * A are the regions of parameters, gradients and accumulated gradients, which have the same layout; chunk [chunks] =
 * {first float16, float16s, tensor, 0}, at most CHUNK_VECTORS of one tensor.
 *
 * Reduction class: a work-group of GRADIENT_GROUP items sums each chunk. Item i sums the numbers (groups.cl) i,
 * i + GRADIENT_GROUP, ..., then the lanes of the resulting vector by halves; then the sums of the items are added in
 * order. The chunks of a tensor are summed by the items in the same way, then the tensors in order. GPUs have other lanes
 * than CPU devices, hence other sums. Reference: reference_gradients() in tests/reference.h. Tolerance: 2^-20 relative.
 */

/* The first of the numbers (groups.cl) of chunk c that the item takes, and the end of the chunk. */
#define FIRST_OF(c) ((size_t)(c).x * (16 / WIDTH) + get_local_id(0))
#define END_OF(c)   ((size_t)((c).x + (c).y) * (16 / WIDTH))

/* G null: only sums the penalties. A null: gradients do not accumulate. penalty_of [tensors] = {l1, l2}; null: there
 * are no penalties. `share` is 1 / accumulated batches. `limit` is clipvalue, 0 = no limit. A NaN stays a NaN. */
GRADIENTS prepare_gradients(__global const float *P, __global float *G, __global float *A, __global const uint4 *chunk,
			    __global const float2 *penalty_of, __global float *chunk_penalty,
			    __global float *chunk_square, int update, float share, float limit)
{
	__local float partial[GRADIENT_GROUP];
	const uint4 c = chunk[get_group_id(0)];
	const float2 l = penalty_of ? penalty_of[c.z] : (float2)(0);
	numbers penalty = 0, square = 0;

	for (size_t i = FIRST_OF(c); i < END_OF(c); i += GRADIENT_GROUP) {
		numbers g = G ? get_numbers(i, G) : (numbers)(0);

		if (l.x > 0 || l.y > 0) {
			const numbers p = get_numbers(i, P);

			penalty += l.x * fabs(p) + l.y * p * p;
			g += l.x * sign(p) + 2 * l.y * p;
		}
		if (!G)
			continue;
		if (A) {
			g += get_numbers(i, A);
			put_numbers(update ? (numbers)(0) : g, i, A);
			g *= share;
		}
		if (limit > 0) {
			g = g > limit ? (numbers)(limit) : g;
			g = g < -limit ? (numbers)(-limit) : g;
		}
		square += g * g;
		put_numbers(g, i, G);
	}

	const float penalties = group_sum(numbers_sum(penalty), partial);
	const float squares = group_sum(numbers_sum(square), partial);

	if (get_local_id(0) == 0) {
		chunk_penalty[get_group_id(0)] = penalties;
		chunk_square[get_group_id(0)] = squares;
	}
}

/* One work-group. span [tensors] = {first chunk, chunks}.
 *   scale = clipnorm / max(norm of the tensor, clipnorm), or
 *           global_clipnorm / max(norm of all tensors, global_clipnorm)
 *   penalty = sum of the penalties of all chunks */
GRADIENTS gradient_sums(__global const float *chunk_penalty, __global const float *chunk_square,
			__global const uint2 *span, int tensors, float clipnorm, float global_clipnorm,
			__global float *scale, __global float *penalty)
{
	__local float partial[GRADIENT_GROUP];
	const uint item = get_local_id(0);
	float penalties = 0, squares = 0;

	for (int t = 0; t < tensors; t++) {
		const uint2 s = span[t];
		float p = 0, q = 0;

		for (uint c = s.x + item; c < s.x + s.y; c += GRADIENT_GROUP) {
			p += chunk_penalty[c];
			q += chunk_square[c];
		}
		penalties += group_sum(p, partial);
		q = group_sum(q, partial);
		squares += q;
		if (item == 0)
			scale[t] = sqrt(q) > clipnorm ? clipnorm / sqrt(q) : 1;
	}
	if (item != 0)
		return;
	*penalty = penalties;
	if (global_clipnorm > 0)
		for (int t = 0; t < tensors; t++)
			scale[t] = sqrt(squares) > global_clipnorm ? global_clipnorm / sqrt(squares) : 1;
}

GRADIENTS scale_gradients(__global float *G, __global const uint4 *chunk, __global const float *scale)
{
	const uint4 c = chunk[get_group_id(0)];
	const float s = scale[c.z];

	for (size_t i = FIRST_OF(c); i < END_OF(c); i += GRADIENT_GROUP)
		put_numbers(get_numbers(i, G) * s, i, G);
}

/* p -= p * decay, except for tensors with 0 in decays [tensors]; decay = learning rate * weight decay. */
GRADIENTS decay_weights(__global float *P, __global const uint4 *chunk, __global const float *decays, float decay,
			__global const float *verdict)
{
	const uint4 c = chunk[get_group_id(0)];
	const float d = decay * decays[c.z];

	if (skips(verdict))
		return;
	for (size_t i = FIRST_OF(c); i < END_OF(c); i += GRADIENT_GROUP) {
		const numbers p = get_numbers(i, P);

		put_numbers(p - p * d, i, P);
	}
}

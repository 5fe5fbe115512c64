/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers over the whole parameter region: `vectors` float16 of parameters P, gradients G and slots, which have the
 * same layout. Work-group: UPDATE_GROUP items, each of which updates UPDATE_RUN neighbouring vectors; build options set
 * both (1 x 256 on a CPU device, 64 x 1 elsewhere). Each item sets the chunk_fault of its FAULT_CHUNK elements to 1 +
 * the index of the first element that is NaN or infinite after the update, tested on bits; without such an element the
 * entry stays 0. References: reference() in learn/adam.c and learn/sgd.c. Tolerance: 2^-20 relative to the step (sqrt
 * and division: 3 ulp).
 */

#define UPDATE_SINGLE SINGLE_OF(UPDATE_GROUP)

/* Writes chunk_fault for the first element of vectors [first, end) that is NaN or infinite. `most` holds the largest
 * exponents of the vectors, so that a search is needed only if one of them is that of a NaN or infinity. */
void note_fault(uint16 most, __global const float *P, size_t first, size_t end, __global uint *chunk_fault)
{
	if (!any(most == 0x7f800000u))
		return;
	chunk_fault += first / FAULT_CHUNK_VECTORS;
	for (size_t e = 16 * first; e < 16 * end && !*chunk_fault; e++)
		if ((as_uint(P[e]) & 0x7f800000u) == 0x7f800000u)
			*chunk_fault = 1 + (uint)e;
}

/* Every kernel applies weight decay first: p -= p * decay, decay = learning rate * weight decay. */

/* m += (g - m) * (1 - beta_1); v += (g^2 - v) * (1 - beta_2); p -= rate * m / (sqrt(v) + epsilon)
 * rate = learning rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) */
UPDATE_SINGLE adam(GROUP_ID __global float *P, __global const float *G, __global float *M, __global float *V, uint from, uint to,
	    __global uint *chunk_fault, float rate, float decay, float one_minus_beta_1,
	    float one_minus_beta_2, float epsilon, __global const float *verdict)
{
	const size_t first = from + (size_t)group_id(0) * UPDATE_RUN, end = min(first + UPDATE_RUN, (size_t)to);
	uint16 most = 0;

	if (skips(verdict))
		return;
	rate = rate_of(verdict, rate);
	for (size_t i = first; i < end; i++) {
		const float16 g = get16(i, G);
		float16 p = get16(i, P), m = get16(i, M), v = get16(i, V);

		m += (g - m) * one_minus_beta_1;
		v += (g * g - v) * one_minus_beta_2;
		p -= p * decay;
		p -= rate * m / (sqrt(v) + epsilon);
		put16(m, i, M);
		put16(v, i, V);
		put16(p, i, P);
		most = max(most, EXPONENTS(p));
	}
	note_fault(most, P, first, end, chunk_fault);
}

/* p -= rate * g */
UPDATE_SINGLE sgd(GROUP_ID __global float *P, __global const float *G, uint vectors, __global uint *chunk_fault, float rate,
	   float decay, __global const float *verdict)
{
	const size_t first = (size_t)group_id(0) * UPDATE_RUN, end = min(first + UPDATE_RUN, (size_t)vectors);
	uint16 most = 0;

	if (skips(verdict))
		return;
	rate = rate_of(verdict, rate);
	for (size_t i = first; i < end; i++) {
		float16 p = get16(i, P);

		p -= p * decay;
		p -= rate * get16(i, G);

		put16(p, i, P);
		most = max(most, EXPONENTS(p));
	}
	note_fault(most, P, first, end, chunk_fault);
}

/* m = momentum * m - rate * g; p += nesterov ? momentum * m - rate * g : m */
UPDATE_SINGLE sgd_momentum(GROUP_ID __global float *P, __global const float *G, __global float *M, uint vectors,
		    __global uint *chunk_fault, float rate, float decay, float momentum, int nesterov,
		    __global const float *verdict)
{
	const size_t first = (size_t)group_id(0) * UPDATE_RUN, end = min(first + UPDATE_RUN, (size_t)vectors);
	uint16 most = 0;

	if (skips(verdict))
		return;
	rate = rate_of(verdict, rate);
	for (size_t i = first; i < end; i++) {
		const float16 step = rate * get16(i, G);
		const float16 m = momentum * get16(i, M) - step;
		float16 p = get16(i, P);

		p -= p * decay;
		p += nesterov ? momentum * m - step : m;

		put16(m, i, M);
		put16(p, i, P);
		most = max(most, EXPONENTS(p));
	}
	note_fault(most, P, first, end, chunk_fault);
}

/* a = momentum * a + (1 - momentum) * p, and with `replaces` p = a. Does not write chunk_fault: the update of p has
 * written it. */
UPDATE_SINGLE average(GROUP_ID __global float *P, __global float *A, uint vectors, float momentum, int replaces,
	       __global const float *verdict)
{
	const size_t first = (size_t)group_id(0) * UPDATE_RUN, end = min(first + UPDATE_RUN, (size_t)vectors);

	if (skips(verdict))
		return;
	if (verdict)
		momentum *= verdict[3];
	for (size_t i = first; i < end; i++) {
		const float16 a = momentum * get16(i, A) + (1 - momentum) * get16(i, P);

		put16(a, i, A);
		if (replaces)
			put16(a, i, P);
	}
}

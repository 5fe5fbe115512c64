/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers over the float16 [from, to) of parameters P, gradients G and slots, which have the same layout. On a CPU
 * device an item updates UPDATE_RUN neighbouring float16; on other devices each of the UPDATE_GROUP items of a group
 * updates one float4, so that neighbouring items access neighbouring memory. Build options set both. The chunk_fault of
 * FAULT_CHUNK elements becomes 1 + the index of the first element that is NaN or infinite after the update, tested on
 * bits; without such an element the entry stays 0. References: reference() in learn/adam.c, adaptive.c and sgd.c.
 * Tolerance: 2^-20 relative to the step (sqrt and division: 3 ulp).
 */

#define UPDATE_SINGLE SINGLE_OF(UPDATE_GROUP)

/* OWN declares the range [first, end) of the numbers (groups.cl) that an item updates, of the float16 [from, to). */
#ifdef CPU_DEVICE
typedef uint16 exponents;
#define exponents_of(x)      EXPONENTS(x)
#define OWN(from, to)                                                       \
	const size_t first = (from) + (size_t)group_id(0) * UPDATE_RUN;     \
	const size_t end = min(first + UPDATE_RUN, (size_t)(to));
#else
typedef uint4 exponents;
#define exponents_of(x)      (as_uint4(x) & 0x7f800000u)
#define OWN(from, to) const size_t first = (from) * (size_t)4 + get_global_id(0), end = min(first + 1, (to) * (size_t)4);
#endif

/* Writes chunk_fault for the first element of numbers [first, end) that is NaN or infinite. `most` holds the largest
 * exponents of the numbers, so that a search is needed only if one of them is that of a NaN or infinity. */
void note_fault(exponents most, __global const float *P, size_t first, size_t end, __global uint *chunk_fault)
{
	if (!any(most == 0x7f800000u))
		return;
	for (size_t e = WIDTH * first; e < WIDTH * end; e++)
		if ((as_uint(P[e]) & 0x7f800000u) == 0x7f800000u) {
			keep_fault(chunk_fault + e / (16 * FAULT_CHUNK_VECTORS), 1 + (uint)e);
			return;
		}
}

/* The frame of an optimizer's kernel: UPDATE_BEGIN, what becomes of p and the slots at i with the gradient g, UPDATE_END.
 * Weight decay comes first: decay = learning rate * weight decay. */
#define UPDATE_BEGIN                                 \
	OWN(from, to)                                \
	exponents most = 0;                          \
                                                     \
	if (skips(verdict))                          \
		return;                              \
	rate = rate_of(verdict, rate);               \
	for (size_t i = first; i < end; i++) {       \
		const numbers g = get_numbers(i, G); \
		numbers p = get_numbers(i, P);       \
                                                     \
		p -= p * decay;
#define UPDATE_END                                   \
		put_numbers(p, i, P);                \
		most = max(most, exponents_of(p));   \
	}                                            \
	note_fault(most, P, first, end, chunk_fault);

/* m += (g - m) * (1 - beta_1); v += (g^2 - v) * (1 - beta_2); p -= rate * m / (sqrt(v) + epsilon)
 * rate = learning rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) */
UPDATE_SINGLE adam(GROUP_ID __global float *P, __global const float *G, __global float *M, __global float *V, uint from, uint to,
	    __global uint *chunk_fault, float rate, float decay, float one_minus_beta_1,
	    float one_minus_beta_2, float epsilon, __global const float *verdict)
{
	UPDATE_BEGIN
		numbers m = get_numbers(i, M), v = get_numbers(i, V);

		m += (g - m) * one_minus_beta_1;
		v += (g * g - v) * one_minus_beta_2;
		p -= rate * m / (sqrt(v) + epsilon);
		put_numbers(m, i, M);
		put_numbers(v, i, V);
	UPDATE_END
}

/* p -= rate * g */
UPDATE_SINGLE sgd(GROUP_ID __global float *P, __global const float *G, uint from, uint to, __global uint *chunk_fault,
	   float rate, float decay, __global const float *verdict)
{
	UPDATE_BEGIN
		p -= rate * g;
	UPDATE_END
}

/* m = momentum * m - rate * g; p += nesterov ? momentum * m - rate * g : m */
UPDATE_SINGLE sgd_momentum(GROUP_ID __global float *P, __global const float *G, __global float *M, uint from, uint to,
		    __global uint *chunk_fault, float rate, float decay, float momentum, int nesterov,
		    __global const float *verdict)
{
	UPDATE_BEGIN
		const numbers step = rate * g;
		const numbers m = momentum * get_numbers(i, M) - step;

		p += nesterov ? momentum * m - step : m;
		put_numbers(m, i, M);
	UPDATE_END
}

/* The kernels of RMSprop, Adagrad, Adamax and Lion have the same parameters. M and V are slots; V is null where there is one
 * slot. a, b, c: numbers of the formula. */
#define UPDATE_PARAMETERS                                                                                        \
	GROUP_ID __global float *P, __global const float *G, __global float *M, __global float *V, uint from,    \
		uint to, __global uint *chunk_fault, float rate, float decay, float a, float b, float c,                  \
		__global const float *verdict

/* a = rho, b = momentum, c = epsilon:
 * m = a m + (1 - a) g^2; step = rate * g / sqrt(m + c); with V: v = b v + step, step = v; p -= step */
UPDATE_SINGLE rmsprop(UPDATE_PARAMETERS)
{
	UPDATE_BEGIN
		const numbers m = a * get_numbers(i, M) + (1 - a) * g * g;
		numbers step = rate * g / sqrt(m + c);

		put_numbers(m, i, M);
		if (V) {
			step += b * get_numbers(i, V);
			put_numbers(step, i, V);
		}
		p -= step;
	UPDATE_END
}

/* c = epsilon: m += g^2; p -= rate * g / sqrt(m + c) */
UPDATE_SINGLE adagrad(UPDATE_PARAMETERS)
{
	UPDATE_BEGIN
		const numbers m = get_numbers(i, M) + g * g;

		p -= rate * g / sqrt(m + c);
		put_numbers(m, i, M);
	UPDATE_END
}

/* a = 1 - beta_1, b = beta_2, c = epsilon: m += (g - m) a; v = max(b v, |g|); p -= rate * m / (v + c)
 * rate = learning rate / (1 - beta_1^t) */
UPDATE_SINGLE adamax(UPDATE_PARAMETERS)
{
	UPDATE_BEGIN
		const numbers v = fmax(b * get_numbers(i, V), fabs(g));
		numbers m = get_numbers(i, M);

		m += (g - m) * a;
		p -= rate * m / (v + c);
		put_numbers(m, i, M);
		put_numbers(v, i, V);
	UPDATE_END
}

/* a = beta_1, b = beta_2: p -= rate * sign(a m + (1 - a) g); m = b m + (1 - b) g */
UPDATE_SINGLE lion(UPDATE_PARAMETERS)
{
	UPDATE_BEGIN
		const numbers m = get_numbers(i, M), way = a * m + (1 - a) * g;

		/* 0 * way: sign() of a NaN is 0, and 0 times a NaN or an infinity is a NaN */
		p -= rate * sign(way) + 0 * way;
		put_numbers(b * m + (1 - b) * g, i, M);
	UPDATE_END
}

/* a = momentum * a + (1 - momentum) * p, and with `replaces` p = a. Does not write chunk_fault: the update of p has
 * written it. */
UPDATE_SINGLE average(GROUP_ID __global float *P, __global float *A, uint from, uint to, float momentum, int replaces,
	       __global const float *verdict)
{
	OWN(from, to)

	if (skips(verdict))
		return;
	if (verdict)
		momentum *= verdict[3];
	for (size_t i = first; i < end; i++) {
		const numbers a = momentum * get_numbers(i, A) + (1 - momentum) * get_numbers(i, P);

		put_numbers(a, i, A);
		if (replaces)
			put_numbers(a, i, P);
	}
}

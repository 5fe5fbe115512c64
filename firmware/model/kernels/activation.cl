/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of each element, each with its forward and backward kernel: y = f(x); dx (+)= dy * f'(x). The derivative is
 * computed from x or, where that is cheaper, from y. `number` is the attribute of a layer that has one. Work-group: 64 items, one element
 * each; `add` = 1 adds to the gradient that is already in dx.
 *
 * These kernels compute no sums. References: layers/functions.c, relu_reference() in layers/relu.c. Tolerance: 2^-20
 * relative, and 2^-22 absolute where 1 and a number near -1 are added (exp has 3 ulp, tanh 5). A NaN stays a NaN.
 */

#define FORWARD_KERNEL(name, value)                                                                                       \
	ELEMENTS name(__global const stored *in, __global stored *out, float number, int rows, int columns)        \
	{                                                                                                          \
		const size_t i = get_global_id(0);                                                                 \
                                                                                                                   \
		if (i < (size_t)rows * columns) {                                                                  \
			const float x = load(i, in);                                                               \
                                                                                                                   \
			store(value, i, out);                                                                      \
		}                                                                                                  \
	}

/* In `derivative`, x is the input of the function, or its output if the formula uses the output. */
#define BACKWARD_KERNEL(name, derivative)                                                                                 \
	ELEMENTS name(__global const stored *dy, __global const stored *of, __global stored *dx, float number,     \
		      int add, int rows, int columns)                                                              \
	{                                                                                                          \
		const size_t i = get_global_id(0);                                                                 \
                                                                                                                   \
		if (i < (size_t)rows * columns) {                                                                  \
			const float x = load(i, of);                                                               \
                                                                                                                   \
			store(load(i, dy) * (derivative) + (add ? load(i, dx) : 0), i, dx);                        \
		}                                                                                                  \
	}

#define SQRT_HALF     0.70710678118654752f
#define SQRT_2_BY_PI  0.79788456080286536f
#define SQRT_HALF_PI  0.39894228040143268f /* 1 / sqrt(2 pi) */
#define GELU_CUBE     0.044715f
#define SELU_SCALE    1.0507009873554805f
#define SELU_ALPHA    1.6732632423543772f
#define ONE_SIXTH     0.16666666666666667f

/* erf(x), within 2^-22 relative; of a NaN, 1 or -1. OpenCL's erf() is a call for each number on PoCL; this function becomes vectors.
 * Below 1 it is x + x P(x^2), else 1 - exp(Q(x)), and from 4 on 1. The polynomials P and Q are least squares in float64, with weights
 * that make the largest error small (Lawson, 1961). */
__attribute__((always_inline)) float erf_of(float x)
{
	const float a = fabs(x), square = a * a, far = fmin(a, 4.0f);
	float p = 7.853955454e-5f, q = -2.169763909e-5f;

	p = fma(p, square, -8.010224735e-4f);
	p = fma(p, square, 5.188331645e-3f);
	p = fma(p, square, -2.685381436e-2f);
	p = fma(p, square, 1.128358522e-1f);
	p = fma(p, square, -3.761262583e-1f);
	p = fma(p, square, 1.283791657e-1f);
	q = fma(q, far, 4.414729175e-4f);
	q = fma(q, far, -4.205285901e-3f);
	q = fma(q, far, 2.521034231e-2f);
	q = fma(q, far, -1.084221027e-1f);
	q = fma(q, far, -6.332163949e-1f);
	q = fma(q, far, -1.129580312f);
	q = fma(q, far, 1.884677873e-4f);
	return copysign(a < 1 ? fma(p, a, a) : 1 - exp(q), x);
}

float sigmoid_of(float x)
{
	return 1 / (1 + exp(-x));
}

float gelu_inner(float x)
{
	return tanh(SQRT_2_BY_PI * (x + GELU_CUBE * x * x * x));
}

float gelu_tanh_slope(float x)
{
	const float t = gelu_inner(x);

	return (1 + t) / 2 + x / 2 * (1 - t * t) * SQRT_2_BY_PI * (1 + 3 * GELU_CUBE * x * x);
}

/* log(1 + exp(x)), without an exp that overflows. */
float softplus_of(float x)
{
	return fmax(x, 0.0f) + log1p(exp(-fabs(x)));
}

float hard_sigmoid_of(float x)
{
	return x <= -3 ? 0 : x >= 3 ? 1 : x * ONE_SIXTH + 0.5f;
}

float mish_slope(float x)
{
	const float t = tanh(softplus_of(x));

	return t + x * (1 - t * t) * sigmoid_of(x);
}

FORWARD_KERNEL(sigmoid_forward, sigmoid_of(x))
BACKWARD_KERNEL(sigmoid_backward, x * (1 - x))

FORWARD_KERNEL(tanh_forward, tanh(x))
BACKWARD_KERNEL(tanh_backward, 1 - x * x)

FORWARD_KERNEL(swish_forward, x * sigmoid_of(x))
BACKWARD_KERNEL(swish_backward, sigmoid_of(x) * (1 + x * (1 - sigmoid_of(x))))

FORWARD_KERNEL(gelu_forward, x * (1 + erf_of(x * SQRT_HALF)) / 2)
BACKWARD_KERNEL(gelu_backward, (1 + erf_of(x * SQRT_HALF)) / 2 + x * exp(-x * x / 2) * SQRT_HALF_PI)

FORWARD_KERNEL(gelu_tanh_forward, x * (1 + gelu_inner(x)) / 2)
BACKWARD_KERNEL(gelu_tanh_backward, gelu_tanh_slope(x))

FORWARD_KERNEL(leaky_relu_forward, x < 0 ? number * x : x)
BACKWARD_KERNEL(leaky_relu_backward, x > 0 ? 1 : number)

FORWARD_KERNEL(elu_forward, x > 0 ? x : number * expm1(x))
BACKWARD_KERNEL(elu_backward, x > 0 ? 1 : number * exp(x))

FORWARD_KERNEL(celu_forward, x > 0 ? x : number * expm1(x / number))
BACKWARD_KERNEL(celu_backward, x > 0 ? 1 : exp(x / number))

FORWARD_KERNEL(selu_forward, SELU_SCALE * (x > 0 ? x : SELU_ALPHA * expm1(x)))
BACKWARD_KERNEL(selu_backward, SELU_SCALE * (x > 0 ? 1 : SELU_ALPHA * exp(x)))

FORWARD_KERNEL(exponential_forward, exp(x))
BACKWARD_KERNEL(exponential_backward, x)

FORWARD_KERNEL(softplus_forward, softplus_of(x))
BACKWARD_KERNEL(softplus_backward, sigmoid_of(x))

FORWARD_KERNEL(softsign_forward, x / (1 + fabs(x)))
BACKWARD_KERNEL(softsign_backward, 1 / ((1 + fabs(x)) * (1 + fabs(x))))

FORWARD_KERNEL(hard_sigmoid_forward, hard_sigmoid_of(x))
BACKWARD_KERNEL(hard_sigmoid_backward, x > -3 && x < 3 ? ONE_SIXTH : 0)

FORWARD_KERNEL(hard_silu_forward, x * hard_sigmoid_of(x))
BACKWARD_KERNEL(hard_silu_backward, hard_sigmoid_of(x) + (x > -3 && x < 3 ? x * ONE_SIXTH : 0))

FORWARD_KERNEL(hard_tanh_forward, x < -1 ? -1 : x > 1 ? 1 : x)
BACKWARD_KERNEL(hard_tanh_backward, x >= -1 && x <= 1 ? 1 : 0)

FORWARD_KERNEL(log_sigmoid_forward, -softplus_of(-x))
BACKWARD_KERNEL(log_sigmoid_backward, sigmoid_of(-x))

FORWARD_KERNEL(mish_forward, x * tanh(softplus_of(x)))
BACKWARD_KERNEL(mish_backward, mish_slope(x))

FORWARD_KERNEL(soft_shrink_forward, fabs(x) <= number ? 0 : x > 0 ? x - number : x + number)
BACKWARD_KERNEL(soft_shrink_backward, fabs(x) <= number ? 0 : 1)

FORWARD_KERNEL(hard_shrink_forward, fabs(x) <= number ? 0 : x)
BACKWARD_KERNEL(hard_shrink_backward, fabs(x) <= number ? 0 : 1)

FORWARD_KERNEL(tanh_shrink_forward, x - tanh(x))
BACKWARD_KERNEL(tanh_shrink_backward, tanh(x) * tanh(x))

FORWARD_KERNEL(squareplus_forward, (x + sqrt(x * x + number)) / 2)
BACKWARD_KERNEL(squareplus_backward, (1 + x / sqrt(x * x + number)) / 2)

/* y = most where x >= most, slope * (x - threshold) where x < threshold, else x; a NaN stays a NaN. */
ELEMENTS relu_limited(__global const stored *in, __global stored *out, float most, float slope, float threshold,
		      int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const float x = load(i, in), below = slope != 0 ? slope * (x - threshold) : 0;

		store(x >= most ? most : x < threshold ? below : x, i, out);
	}
}

ELEMENTS relu_limited_backward(__global const stored *dy, __global const stored *in, __global stored *dx, float most,
			       float slope, float threshold, int add, int rows, int columns)
{
	const size_t i = get_global_id(0);

	if (i < (size_t)rows * columns) {
		const float x = load(i, in), factor = x >= most ? 0 : x > threshold ? 1 : slope;

		store(load(i, dy) * factor + (add ? load(i, dx) : 0), i, dx);
	}
}

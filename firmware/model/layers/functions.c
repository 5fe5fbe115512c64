/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/functions.h"

#include <math.h>
#include <string.h>

/* ---- Values and derivatives in float64; `number` is the attribute of the layer ---- */

static double sigmoid(double x, double unused)
{
	(void)unused;
	return 1 / (1 + exp(-x));
}

static double sigmoid_slope(double x, double unused)
{
	return sigmoid(x, unused) * (1 - sigmoid(x, unused));
}

static double hyperbolic(double x, double unused)
{
	(void)unused;
	return tanh(x);
}

static double hyperbolic_slope(double x, double unused)
{
	(void)unused;
	return 1 - tanh(x) * tanh(x);
}

static double swish(double x, double unused)
{
	return x * sigmoid(x, unused);
}

static double swish_slope(double x, double unused)
{
	return sigmoid(x, unused) + x * sigmoid_slope(x, unused);
}

static double gelu(double x, double unused)
{
	(void)unused;
	return x * (1 + erf(x / M_SQRT2)) / 2;
}

static double gelu_slope(double x, double unused)
{
	(void)unused;
	return (1 + erf(x / M_SQRT2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * M_PI);
}

static double gelu_tanh(double x, double unused)
{
	(void)unused;
	return x * (1 + tanh(sqrt(2 / M_PI) * (x + GELU_CUBE * x * x * x))) / 2;
}

static double gelu_tanh_slope(double x, double unused)
{
	const double t = tanh(sqrt(2 / M_PI) * (x + GELU_CUBE * x * x * x));

	(void)unused;
	return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * GELU_CUBE * x * x);
}

static double leaky_relu(double x, double slope)
{
	return x < 0 ? slope * x : x;
}

static double leaky_relu_slope(double x, double slope)
{
	return x > 0 ? 1 : slope;
}

static double elu(double x, double number)
{
	return x > 0 ? x : number * expm1(x);
}

static double elu_slope(double x, double number)
{
	return x > 0 ? 1 : number * exp(x);
}

static double celu(double x, double number)
{
	return x > 0 ? x : number * expm1(x / number);
}

static double celu_slope(double x, double number)
{
	return x > 0 ? 1 : exp(x / number);
}

static double selu(double x, double unused)
{
	(void)unused;
	return SELU_SCALE * elu(x, SELU_ALPHA);
}

static double selu_slope(double x, double unused)
{
	(void)unused;
	return SELU_SCALE * elu_slope(x, SELU_ALPHA);
}

static double exponential(double x, double unused)
{
	(void)unused;
	return exp(x);
}

static double exponential_slope(double x, double unused)
{
	(void)unused;
	return exp(x);
}

static double softplus(double x, double unused)
{
	(void)unused;
	return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double softplus_slope(double x, double unused)
{
	return sigmoid(x, unused);
}

static double softsign(double x, double unused)
{
	(void)unused;
	return x / (1 + fabs(x));
}

static double softsign_slope(double x, double unused)
{
	(void)unused;
	return 1 / ((1 + fabs(x)) * (1 + fabs(x)));
}

static double hard_sigmoid(double x, double unused)
{
	(void)unused;
	return fmin(fmax(x / 6 + 0.5, 0), 1);
}

static double hard_sigmoid_slope(double x, double unused)
{
	(void)unused;
	return fabs(x) < 3 ? 1 / 6.0 : 0;
}

static double hard_silu(double x, double unused)
{
	return x * hard_sigmoid(x, unused);
}

static double hard_silu_slope(double x, double unused)
{
	return hard_sigmoid(x, unused) + x * hard_sigmoid_slope(x, unused);
}

static double hard_tanh(double x, double unused)
{
	(void)unused;
	return fmin(fmax(x, -1), 1);
}

static double hard_tanh_slope(double x, double unused)
{
	(void)unused;
	return fabs(x) <= 1;
}

static double log_sigmoid(double x, double unused)
{
	return -softplus(-x, unused);
}

static double log_sigmoid_slope(double x, double unused)
{
	return sigmoid(-x, unused);
}

static double mish(double x, double unused)
{
	return x * tanh(softplus(x, unused));
}

static double mish_slope(double x, double unused)
{
	const double t = tanh(softplus(x, unused));

	return t + x * (1 - t * t) * sigmoid(x, unused);
}

static double soft_shrink(double x, double number)
{
	return fabs(x) <= number ? 0 : x > 0 ? x - number : x + number;
}

static double soft_shrink_slope(double x, double number)
{
	return fabs(x) > number;
}

static double hard_shrink(double x, double number)
{
	return fabs(x) <= number ? 0 : x;
}

static double hard_shrink_slope(double x, double number)
{
	return fabs(x) > number;
}

static double tanh_shrink(double x, double unused)
{
	(void)unused;
	return x - tanh(x);
}

static double tanh_shrink_slope(double x, double unused)
{
	(void)unused;
	return tanh(x) * tanh(x);
}

static double squareplus(double x, double number)
{
	return (x + sqrt(x * x + number)) / 2;
}

static double squareplus_slope(double x, double number)
{
	return (1 + x / sqrt(x * x + number)) / 2;
}

/* ---- The table ---- */

#define FUNCTION(op, kernel, by_output)                                                         \
	{                                                                                       \
#op, #kernel "_forward", #kernel "_backward", by_output, kernel, kernel##_slope \
	}

static const struct function functions[] = {
	FUNCTION(sigmoid, sigmoid, true),
	{ "tanh", "tanh_forward", "tanh_backward", true, hyperbolic, hyperbolic_slope },
	FUNCTION(swish, swish, false),
	FUNCTION(silu, swish, false),
	FUNCTION(leaky_relu, leaky_relu, false),
	FUNCTION(gelu, gelu, false),
	FUNCTION(elu, elu, false),
	FUNCTION(celu, celu, false),
	FUNCTION(selu, selu, false),
	FUNCTION(exponential, exponential, true),
	FUNCTION(softplus, softplus, false),
	FUNCTION(softsign, softsign, false),
	FUNCTION(hard_sigmoid, hard_sigmoid, false),
	FUNCTION(hard_silu, hard_silu, false),
	FUNCTION(hard_swish, hard_silu, false),
	FUNCTION(hard_tanh, hard_tanh, false),
	FUNCTION(log_sigmoid, log_sigmoid, false),
	FUNCTION(mish, mish, false),
	FUNCTION(soft_shrink, soft_shrink, false),
	FUNCTION(hard_shrink, hard_shrink, false),
	FUNCTION(tanh_shrink, tanh_shrink, false),
	FUNCTION(squareplus, squareplus, false),
};
static const struct function gelu_approximate = FUNCTION(gelu, gelu_tanh, false);

const struct function *function_of(const struct node *node)
{
	uint32_t i = 0;

	while (strcmp(functions[i].op, node->op->name) != 0)
		i++;
	return functions[i].value == gelu && node->attribute[FUNCTION_NUMBER].b ? &gelu_approximate
										: &functions[i];
}

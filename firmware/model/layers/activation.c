/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of each element except relu (relu.c), and softmax, which works on a row. */
#include "model/layers/row.h"

#include <math.h>
#include <string.h>

/* ---- Functions whose derivative follows from input or output: sigmoid, tanh, swish, gelu, leaky_relu ----
 */

enum { FUNCTION_PARAMETER };

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

#define GELU_CUBE 0.044715

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

static double leaky(double x, double slope)
{
	return x < 0 ? slope * x : x;
}

static double leaky_slope(double x, double slope)
{
	return x > 0 ? 1 : slope;
}

struct function {
	const char *op, *forward, *backward; /* name of the op; names of its two kernels */
	bool by_output;                      /* true: the backward kernel reads y; false: x */
	double (*value)(double x, double parameter), (*slope)(double x, double parameter);
};

static const struct function functions[] = {
	{ "sigmoid", "sigmoid_forward", "sigmoid_backward", true, sigmoid, sigmoid_slope },
	{ "tanh", "tanh_forward", "tanh_backward", true, hyperbolic, hyperbolic_slope },
	{ "swish", "swish_forward", "swish_backward", false, swish, swish_slope },
	{ "silu", "swish_forward", "swish_backward", false, swish, swish_slope },
	{ "leaky_relu", "leaky_relu_forward", "leaky_relu_backward", false, leaky, leaky_slope },
	{ "gelu", "gelu_forward", "gelu_backward", false, gelu, gelu_slope },
};
static const struct function gelu_approximate = { "gelu", "gelu_tanh_forward", "gelu_tanh_backward",
						  false,  gelu_tanh,           gelu_tanh_slope };

static const struct function *function_of(const struct node *node)
{
	uint32_t i = 0;

	while (strcmp(functions[i].op, node->op->name) != 0)
		i++;
	return functions[i].value == gelu && node->attribute[FUNCTION_PARAMETER].b ? &gelu_approximate
										   : &functions[i];
}

static void function_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = function_of(node)->forward,
				.groups = { per_element(output) },
				ARGUMENTS(IN(node->input[0]), OUT(node->output),
					  FLOAT(node->attribute[FUNCTION_PARAMETER].f), AT(ROWS),
					  INT(output->elements)),
			});
}

static void function_backward(struct plan *plan, const struct node *node)
{
	const struct function *function = function_of(node);
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	plan_emit(plan, &(struct launch){
				.kernel = function->backward,
				.groups = { per_element(output) },
				ARGUMENTS(IN(output->gradient),
					  IN(function->by_output ? node->output : node->input[0]), OUT(dx),
					  FLOAT(node->attribute[FUNCTION_PARAMETER].f), INT(add), AT(ROWS),
					  INT(output->elements)),
			});
}

static void function_reference(const struct op_reference *r)
{
	const struct function *function = function_of(r->node);
	const double parameter = r->node->attribute[FUNCTION_PARAMETER].f;

	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		r->y[i] = function->value(r->x[0][i], parameter);
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->dy[i] * function->slope(r->x[0][i], parameter);
	}
}

static void sigmoid_export(struct export *out, const struct node *node)
{
	export_unary(out, node, EXPORT_SIGMOID);
}

static void tanh_export(struct export *out, const struct node *node)
{
	export_unary(out, node, EXPORT_TANH);
}

static void swish_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name gate = export_of(out, node, EXPORT_SIGMOID, x, "gate");

	export_binary(out, EXPORT_MULTIPLY, x, gate.text, export_output(out, node));
}

static void leaky_relu_export(struct export *out, const struct node *node)
{
	export_node(out, &(struct export_node){ .kind = EXPORT_LEAKY_RELU,
						.output = export_output(out, node),
						.input = { export_input(out, node, 0) },
						.alpha = node->attribute[FUNCTION_PARAMETER].f });
}

/* Exports sqrt(2 / pi) (x + 0.044715 x^3), the argument of tanh in the formula of the paper. */
static struct export_inner_name gelu_inner(struct export *out, const struct node *node, const char *x)
{
	const struct export_inner_name square = export_both(out, node, EXPORT_MULTIPLY, x, x, "square"),
				       scaled = export_with(out, node, EXPORT_MULTIPLY, square.text,
							    GELU_CUBE, "scaled"),
				       factor = export_with(out, node, EXPORT_ADD, scaled.text, 1, "factor"),
				       sum = export_both(out, node, EXPORT_MULTIPLY, x, factor.text, "sum");

	return export_with(out, node, EXPORT_MULTIPLY, sum.text, sqrt(2 / M_PI), "inner");
}

/* Exports x / 2 (1 + erf(x / sqrt(2))), or with `approximate` x / 2 (1 + tanh(gelu_inner)). */
static void gelu_export(struct export *out, const struct node *node)
{
	const bool approximate = node->attribute[FUNCTION_PARAMETER].b;
	const char *x = export_input(out, node, 0);
	const struct export_inner_name inner =
		approximate ? gelu_inner(out, node, x)
			    : export_with(out, node, EXPORT_MULTIPLY, x, M_SQRT1_2, "inner");
	const struct export_inner_name curve =
		export_of(out, node, approximate ? EXPORT_TANH : EXPORT_ERF, inner.text, "curve");
	const struct export_inner_name gate = export_with(out, node, EXPORT_ADD, curve.text, 1, "gate"),
				       half = export_with(out, node, EXPORT_MULTIPLY, x, 0.5, "half");

	export_binary(out, EXPORT_MULTIPLY, half.text, gate.text, export_output(out, node));
}

/* Keras has two defaults: 0.3 in keras.layers.LeakyReLU, 0.2 in keras.activations.leaky_relu. */
static const struct attribute_spec leaky_relu_attributes[] = {
	[FUNCTION_PARAMETER] = { "negative_slope", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 0.3,
				 .activation_fallback = 0.2, .min = 0, .max = 1e6 },
};

/* `approximate` true: the formula with tanh, from the paper; false: the formula with erf, Keras's default. */
static const struct attribute_spec gelu_attributes[] = {
	[FUNCTION_PARAMETER] = { "approximate", ATTRIBUTE_IS_BOOL, .hashed = true },
};

#define FUNCTION_ROW(name_of, ...)                                                                           \
	{                                                                                                    \
		.name = #name_of, .inputs = 1, .function = true, .shape = same_shape,                        \
		.forward = function_forward, .backward = function_backward, .reference = function_reference, \
		##__VA_ARGS__                                                                                \
	}
const struct op op_sigmoid = FUNCTION_ROW(sigmoid, .export = sigmoid_export);
const struct op op_tanh = FUNCTION_ROW(tanh, .export = tanh_export);
const struct op op_swish = FUNCTION_ROW(swish, .export = swish_export);
const struct op op_silu = FUNCTION_ROW(silu, .export = swish_export);
const struct op op_leaky_relu = FUNCTION_ROW(leaky_relu, .export = leaky_relu_export, .attributes = 1,
					     .attribute = leaky_relu_attributes);
const struct op op_gelu =
	FUNCTION_ROW(gelu, .export = gelu_export, .attributes = 1, .attribute = gelu_attributes);

/* ---- softmax: p = exp(x) / sum exp(x) over the last dimension ---- */

static void softmax_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "softmax" : "softmax_group",
				.groups = { per_outer(plan, output) },
				ARGUMENTS(IN(node->input[0]), OUT(node->output),
					  ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output))),
			});
}

static void softmax_export(struct export *out, const struct node *node)
{
	export_unary(out, node, EXPORT_SOFTMAX);
}

static void softmax_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "softmax_backward" : "softmax_backward_group",
				.groups = { per_outer(plan, output) },
				ARGUMENTS(IN(output->gradient), IN(node->output), OUT(dx), INT(add),
					  ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output))),
			});
}

static void softmax_reference(const struct op_reference *r)
{
	const uint64_t classes = tensor_last(graph_at(r->graph, r->node->output)), n = r->rows * r->inputs;

	for (uint64_t at = 0; at < n; at += classes) {
		const double *x = r->x[0] + at;
		double *p = r->y + at, most = x[0], sum = 0, dot = 0;

		for (uint64_t c = 1; c < classes; c++)
			most = x[c] > most ? x[c] : most;
		for (uint64_t c = 0; c < classes; c++)
			sum += p[c] = exp(x[c] - most);
		for (uint64_t c = 0; c < classes; c++)
			p[c] /= sum;
		if (!r->dy || !r->dx[0])
			continue;
		for (uint64_t c = 0; c < classes; c++)
			dot += r->dy[at + c] * p[c];
		for (uint64_t c = 0; c < classes; c++)
			r->dx[0][at + c] = p[c] * (r->dy[at + c] - dot);
	}
}

const struct op op_softmax = {
	.name = "softmax",
	.function = true,
	.inputs = 1,
	.shape = same_shape,
	.forward = softmax_forward,
	.backward = softmax_backward,
	.reference = softmax_reference,
	.export = softmax_export,
};

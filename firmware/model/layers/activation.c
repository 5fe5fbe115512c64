/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of each element except relu (relu.c): functions.h says what they compute. */
#include "model/layers/functions.h"
#include "model/layers/row.h"

#include <math.h>

/* ---- Launches ---- */

static void function_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = function_of(node)->forward,
				.groups = { per_element(output) },
				ARGUMENTS(IN(node->input[0]), OUT(node->output),
					  FLOAT(node->attribute[FUNCTION_NUMBER].f), AT(ROWS),
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
					  FLOAT(node->attribute[FUNCTION_NUMBER].f), INT(add), AT(ROWS),
					  INT(output->elements)),
			});
}

static void function_reference(const struct op_reference *r)
{
	const struct function *function = function_of(r->node);
	const double number = r->node->attribute[FUNCTION_NUMBER].f;

	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		r->y[i] = function->value(r->x[0][i], number);
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->dy[i] * function->slope(r->x[0][i], number);
	}
}

/* ---- Export ---- */

#define UNARY_EXPORT(name, kind)                                               \
	static void name##_export(struct export *out, const struct node *node) \
	{                                                                      \
		export_unary(out, node, kind);                                 \
	}
UNARY_EXPORT(sigmoid, EXPORT_SIGMOID)
UNARY_EXPORT(tanh, EXPORT_TANH)
UNARY_EXPORT(exponential, EXPORT_EXPONENTIAL)
UNARY_EXPORT(softplus, EXPORT_SOFTPLUS)
UNARY_EXPORT(softsign, EXPORT_SOFTSIGN)

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
						.alpha = node->attribute[FUNCTION_NUMBER].f });
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
	const bool approximate = node->attribute[FUNCTION_NUMBER].b;
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

/* ---- Export of elu and its relatives: scale * relu(x) + factor * (exp(min(x, 0) / stretch) - 1) ---- */

static void export_exponential_below(struct export *out, const struct node *node, double scale, double factor,
				     double stretch)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name positive = export_of(out, node, EXPORT_RELU, x, "positive"),
				       upper = export_with(out, node, EXPORT_MULTIPLY, positive.text, scale,
							   "upper"),
				       negative = export_with(out, node, EXPORT_MINIMUM, x, 0, "negative"),
				       stretched = export_with(out, node, EXPORT_DIVIDE, negative.text,
							       stretch, "stretched"),
				       power = export_of(out, node, EXPORT_EXPONENTIAL, stretched.text,
							 "power"),
				       less = export_with(out, node, EXPORT_SUBTRACT, power.text, 1, "less"),
				       lower = export_with(out, node, EXPORT_MULTIPLY, less.text, factor,
							   "lower");

	export_binary(out, EXPORT_ADD, upper.text, lower.text, export_output(out, node));
}

static void elu_export(struct export *out, const struct node *node)
{
	export_exponential_below(out, node, 1, node->attribute[FUNCTION_NUMBER].f, 1);
}

static void celu_export(struct export *out, const struct node *node)
{
	const double alpha = node->attribute[FUNCTION_NUMBER].f;

	export_exponential_below(out, node, 1, alpha, alpha);
}

static void selu_export(struct export *out, const struct node *node)
{
	export_exponential_below(out, node, SELU_SCALE, SELU_SCALE * SELU_ALPHA, 1);
}

/* ---- Export of the functions of straight lines ---- */

/* Exports x, but at least `low` and at most `high`. */
static struct export_inner_name export_clipped(struct export *out, const struct node *node, const char *x,
					       double low, double high)
{
	const struct export_inner_name above = export_with(out, node, EXPORT_MAXIMUM, x, low, "above");

	return export_with(out, node, EXPORT_MINIMUM, above.text, high, "clipped");
}

/* Exports x / 6 + 1 / 2, clipped to 0 .. 1. */
static struct export_inner_name export_hard_gate(struct export *out, const struct node *node)
{
	const struct export_inner_name scaled = export_with(out, node, EXPORT_DIVIDE,
							    export_input(out, node, 0), 6, "scaled"),
				       moved = export_with(out, node, EXPORT_ADD, scaled.text, 0.5, "moved");

	return export_clipped(out, node, moved.text, 0, 1);
}

/* Writes the output of the node: kind(x, value inside the layer). */
static void export_with_input(struct export *out, const struct node *node, enum export_kind kind,
			      const struct export_inner_name *value)
{
	export_binary(out, kind, export_input(out, node, 0), value->text, export_output(out, node));
}

static void hard_sigmoid_export(struct export *out, const struct node *node)
{
	const struct export_inner_name gate = export_hard_gate(out, node);

	export_node(out, &(struct export_node){ .kind = EXPORT_IDENTITY,
						.output = export_output(out, node),
						.input = { gate.text } });
}

static void hard_silu_export(struct export *out, const struct node *node)
{
	const struct export_inner_name gate = export_hard_gate(out, node);

	export_with_input(out, node, EXPORT_MULTIPLY, &gate);
}

static void hard_tanh_export(struct export *out, const struct node *node)
{
	const struct export_inner_name clipped = export_clipped(out, node, export_input(out, node, 0), -1, 1);

	export_node(out, &(struct export_node){ .kind = EXPORT_IDENTITY,
						.output = export_output(out, node),
						.input = { clipped.text } });
}

static void soft_shrink_export(struct export *out, const struct node *node)
{
	const double threshold = node->attribute[FUNCTION_NUMBER].f;
	const struct export_inner_name clipped =
		export_clipped(out, node, export_input(out, node, 0), -threshold, threshold);

	export_with_input(out, node, EXPORT_SUBTRACT, &clipped);
}

/* Exports x * relu(sign(|x| - threshold)). */
static void hard_shrink_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name mirrored = export_with(out, node, EXPORT_MULTIPLY, x, -1, "mirrored"),
				       size = export_both(out, node, EXPORT_MAXIMUM, x, mirrored.text,
							  "size"),
				       more = export_with(out, node, EXPORT_SUBTRACT, size.text,
							  node->attribute[FUNCTION_NUMBER].f, "more"),
				       sign = export_of(out, node, EXPORT_SIGN, more.text, "sign"),
				       gate = export_of(out, node, EXPORT_RELU, sign.text, "gate");

	export_with_input(out, node, EXPORT_MULTIPLY, &gate);
}

/* ---- Export of the other functions ---- */

static void log_sigmoid_export(struct export *out, const struct node *node)
{
	const struct export_inner_name mirrored = export_with(out, node, EXPORT_MULTIPLY,
							      export_input(out, node, 0), -1, "mirrored"),
				       plus = export_of(out, node, EXPORT_SOFTPLUS, mirrored.text, "plus"),
				       minus = export_inner(node, "minus");

	export_float(out, minus.text, -1);
	export_binary(out, EXPORT_MULTIPLY, plus.text, minus.text, export_output(out, node));
}

static void mish_export(struct export *out, const struct node *node)
{
	const struct export_inner_name plus = export_of(out, node, EXPORT_SOFTPLUS,
							export_input(out, node, 0), "plus"),
				       gate = export_of(out, node, EXPORT_TANH, plus.text, "gate");

	export_with_input(out, node, EXPORT_MULTIPLY, &gate);
}

static void tanh_shrink_export(struct export *out, const struct node *node)
{
	const struct export_inner_name curve =
		export_of(out, node, EXPORT_TANH, export_input(out, node, 0), "curve");

	export_with_input(out, node, EXPORT_SUBTRACT, &curve);
}

/* Exports (x + sqrt(x * x + b)) / 2. */
static void squareplus_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name square = export_both(out, node, EXPORT_MULTIPLY, x, x, "square"),
				       more = export_with(out, node, EXPORT_ADD, square.text,
							  node->attribute[FUNCTION_NUMBER].f, "more"),
				       root = export_of(out, node, EXPORT_SQRT, more.text, "root"),
				       sum = export_both(out, node, EXPORT_ADD, x, root.text, "sum"),
				       two = export_inner(node, "two");

	export_float(out, two.text, 2);
	export_binary(out, EXPORT_DIVIDE, sum.text, two.text, export_output(out, node));
}

/* ---- The rows ---- */

/* Keras has two defaults: 0.3 in keras.layers.LeakyReLU, 0.2 in keras.activations.leaky_relu. */
static const struct attribute_spec leaky_relu_attributes[] = {
	[FUNCTION_NUMBER] = { "negative_slope", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 0.3,
			      .activation_fallback = 0.2, .min = 0, .max = 1e6 },
};

/* `approximate` true: the formula with tanh, from the paper; false: the formula with erf, Keras's default. */
static const struct attribute_spec gelu_attributes[] = {
	[FUNCTION_NUMBER] = { "approximate", ATTRIBUTE_IS_BOOL, .hashed = true },
};

#define NUMBER(key_of, usual, least)                                                             \
	{                                                                                        \
		[FUNCTION_NUMBER] = {                                                            \
			key_of,         ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = (usual), \
			.min = (least), .max = 1e6                                               \
		},                                                                               \
	}
static const struct attribute_spec elu_attributes[] = NUMBER("alpha", 1, 0);
static const struct attribute_spec celu_attributes[] = NUMBER("alpha", 1, 1e-3);
static const struct attribute_spec shrink_attributes[] = NUMBER("threshold", 0.5, 0);
static const struct attribute_spec squareplus_attributes[] = NUMBER("b", 4, 1e-6);

#define FUNCTION_ROW(name_of, ...)                                                               \
	{                                                                                        \
		.name = #name_of, .inputs = 1, .function = true, .masking = MASKING_PASSES,      \
		.shape = same_shape, .forward = function_forward, .backward = function_backward, \
		.reference = function_reference, ##__VA_ARGS__                                   \
	}
#define PLAIN(name) const struct op op_##name = FUNCTION_ROW(name, .export = name##_export)
#define WITH(table, name)           \
	const struct op op_##name = \
		FUNCTION_ROW(name, .export = name##_export, .attributes = 1, .attribute = table)
PLAIN(sigmoid);
PLAIN(tanh);
PLAIN(swish);
const struct op op_silu = FUNCTION_ROW(silu, .export = swish_export);
WITH(leaky_relu_attributes, leaky_relu);
WITH(gelu_attributes, gelu);
WITH(elu_attributes, elu);
WITH(celu_attributes, celu);
PLAIN(selu);
PLAIN(exponential);
PLAIN(softplus);
PLAIN(softsign);
PLAIN(hard_sigmoid);
PLAIN(hard_silu);
const struct op op_hard_swish = FUNCTION_ROW(hard_swish, .export = hard_silu_export);
PLAIN(hard_tanh);
PLAIN(log_sigmoid);
PLAIN(mish);
WITH(shrink_attributes, soft_shrink);
WITH(shrink_attributes, hard_shrink);
PLAIN(tanh_shrink);
WITH(squareplus_attributes, squareplus);

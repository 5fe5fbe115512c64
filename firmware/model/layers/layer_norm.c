/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph/random.h"
#include "model/layers/norm.h"

#include <math.h>
#include <string.h>

static const struct norm_tree gradients_of_rows = { "row_gradients", "merge_gradients", NULL, "sums", 2 };

extern const struct op op_layer_norm, op_unit_normalization;

enum { LAYER_EPSILON, LAYER_CENTER, LAYER_SCALE, LAYER_GAMMA_INITIALIZER, LAYER_BETA_INITIALIZER };

static const struct attribute_spec layer_norm_attributes[] = {
	[LAYER_EPSILON] = { "epsilon", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 1e-3, .max = 1 },
	[LAYER_CENTER] = { "center", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[LAYER_SCALE] = { "scale", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[LAYER_GAMMA_INITIALIZER] = NORM_INITIALIZER("gamma", "ones"),
	[LAYER_BETA_INITIALIZER] = NORM_INITIALIZER("beta", "zeros"),
};

static const struct parameter_spec layer_norm_parameters[] = {
	[NORM_GAMMA] = { "gamma", LAYER_GAMMA_INITIALIZER, .only_if = LAYER_SCALE, .shape = { INPUT_LAST } },
	[NORM_BETA] = { "beta", LAYER_BETA_INITIALIZER, .only_if = LAYER_CENTER, .shape = { INPUT_LAST } },
};

/* rms_normalization: no mean, no beta; Keras names its factor scale. */
static const struct attribute_spec rms_attributes[] = {
	[LAYER_EPSILON] = { "epsilon", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 1e-6, .max = 1 },
};

static const struct parameter_spec rms_parameters[] = {
	[NORM_GAMMA] = { "scale", .initial = "ones", .only_if = -1, .shape = { INPUT_LAST } },
};

/* unit_normalization: x / sqrt(sum x^2 + 1e-12). Keras limits the factor instead of adding: vectors that are
 * shorter than about 1e-5 differ. */
#define UNIT_EPSILON 1e-12

static bool is_centered(const struct node *node)
{
	return node->op == &op_layer_norm;
}

static bool is_unit(const struct node *node)
{
	return node->op == &op_unit_normalization;
}

static double epsilon_of(const struct node *node)
{
	return is_unit(node) ? UNIT_EPSILON : node->attribute[LAYER_EPSILON].f;
}

/* Returns the number by which the sum of squares of a row is divided. */
static uint64_t over_of(const struct node *node, uint64_t columns)
{
	return is_unit(node) ? 1 : columns;
}

/* Appends the launch for mean and 1 / deviation of each row. */
static uint32_t row_statistics(struct plan *plan, const struct node *node)
{
	const struct tensor shape = { .rank = 2,
				      .shape = { tensor_outer(output_of(plan, node)), 2 },
				      .rows = true };

	return plan_work(plan, node, "stats", &shape);
}

static void layer_norm_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint32_t stats = row_statistics(plan, node);
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "layer_norm" : "layer_norm_group",
				.groups = { per_outer(plan, output) },
				ARGUMENTS(IN(node->input[0]),
					  argument_optional(node->parameter[NORM_GAMMA], ARGUMENT_IN),
					  argument_optional(node->parameter[NORM_BETA], ARGUMENT_IN),
					  OUT(stats), OUT(node->output), FLOAT(epsilon_of(node)),
					  INT(is_centered(node)), INT(over_of(node, tensor_last(output))),
					  ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output))),
			});
}

static void layer_norm_backward(struct plan *plan, const struct node *node)
{
	const uint32_t stats = row_statistics(plan, node);
	const struct tensor *output = output_of(plan, node);
	const struct launch first = { ARGUMENTS(IN(output->gradient), IN(node->input[0]), IN(stats)) };
	const uint64_t outer = tensor_outer(output), columns = tensor_last(output);
	const uint32_t dy = output->gradient;
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (parameter_gradient(plan, node, NORM_GAMMA) != GRAPH_NO_TENSOR ||
	    parameter_gradient(plan, node, NORM_BETA) != GRAPH_NO_TENSOR)
		norm_emit_parameter_gradients(plan, node,
					      norm_emit_tree(plan, node, &gradients_of_rows, first));
	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "layer_norm_backward" : "layer_norm_backward_group",
				.groups = { per_outer(plan, output) },
				ARGUMENTS(IN(dy), IN(node->input[0]),
					  argument_optional(node->parameter[NORM_GAMMA], ARGUMENT_IN),
					  IN(stats), OUT(dx), INT(add), INT(is_centered(node)),
					  INT(over_of(node, columns)), ROWS_TIMES(outer), INT(columns)),
			});
}

static void row_forward(const struct op_reference *r, struct norm_view *view, uint64_t row)
{
	const double *x = r->x[0] + row * view->columns, count = (double)view->columns,
		     over = (double)over_of(r->node, view->columns);
	double *y = r->y + row * view->columns, variance = 0;

	view->mean = 0;
	for (uint64_t c = 0; is_centered(r->node) && c < view->columns; c++)
		view->mean += x[c] / count;
	for (uint64_t c = 0; c < view->columns; c++)
		variance += (x[c] - view->mean) * (x[c] - view->mean) / over;
	view->scale = 1 / sqrt(variance + epsilon_of(r->node));
	for (uint64_t c = 0; c < view->columns; c++)
		y[c] = (x[c] - view->mean) * view->scale * norm_or_else(r->parameter[NORM_GAMMA], c, 1) +
		       norm_or_else(r->parameter[NORM_BETA], c, 0);
}

static void row_backward(const struct op_reference *r, const struct norm_view *view, uint64_t row)
{
	const double *x = r->x[0] + row * view->columns, *dy = r->dy + row * view->columns;
	const double over = (double)over_of(r->node, view->columns);
	double sum = 0, product = 0;

	for (uint64_t c = 0; c < view->columns; c++) {
		const double x1 = (x[c] - view->mean) * view->scale,
			     g = dy[c] * norm_or_else(r->parameter[NORM_GAMMA], c, 1);

		sum += is_centered(r->node) ? g : 0;
		product += g * x1;
		if (r->dparameter[NORM_GAMMA])
			r->dparameter[NORM_GAMMA][c] += dy[c] * x1;
		if (r->dparameter[NORM_BETA])
			r->dparameter[NORM_BETA][c] += dy[c];
	}
	for (uint64_t c = 0; r->dx[0] && c < view->columns; c++) {
		const double x1 = (x[c] - view->mean) * view->scale,
			     g = dy[c] * norm_or_else(r->parameter[NORM_GAMMA], c, 1);

		r->dx[0][row * view->columns + c] =
			(g - sum / (double)view->columns - x1 * product / over) * view->scale;
	}
}

static void layer_norm_reference(const struct op_reference *r)
{
	struct norm_view view = norm_view_of(r);

	for (uint32_t i = 0; r->dy && i < 2; i++)
		if (r->dparameter[i])
			memset(r->dparameter[i], 0, view.columns * sizeof(double));
	for (uint64_t row = 0; row < view.n; row++) {
		row_forward(r, &view, row);
		if (r->dy)
			row_backward(r, &view, row);
	}
}

/* Exports the mean over the last dimension, which stays with size 1. */
static struct export_inner_name export_mean(struct export *out, const struct node *node, const char *of,
					    const char *step)
{
	const struct export_inner_name name = export_inner(node, step);

	export_node(out, &(struct export_node){ .kind = EXPORT_MEAN,
						.output = name.text,
						.input = { of },
						.axes = { -1 },
						.axis_count = 1,
						.keep_axes = true });
	return name;
}

/* Exports x divided by the root of `squares` + epsilon, times the factor. `squares`: the name of the sum or
 * the mean of the squares of a row; `centered`: x without its mean. */
static void export_divided(struct export *out, const struct node *node, const char *centered,
			   const struct export_inner_name *squares)
{
	const struct export_inner_name spread =
		norm_export_spread(out, node, squares->text, epsilon_of(node));

	norm_export_scaled(out, node, centered, spread.text);
}

static void layer_norm_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name mean = export_mean(out, node, x, "mean"),
				       centered = export_both(out, node, EXPORT_SUBTRACT, x, mean.text,
							      "centered"),
				       squares = export_both(out, node, EXPORT_MULTIPLY, centered.text,
							     centered.text, "squares"),
				       variance = export_mean(out, node, squares.text, "variance");

	export_divided(out, node, centered.text, &variance);
}

static void rms_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name squares = export_both(out, node, EXPORT_MULTIPLY, x, x, "squares"),
				       mean = export_mean(out, node, squares.text, "mean");

	export_divided(out, node, x, &mean);
}

/* The sum of the squares is their mean times the numbers of a row. */
static void unit_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_inner_name squares = export_both(out, node, EXPORT_MULTIPLY, x, x, "squares"),
				       mean = export_mean(out, node, squares.text, "mean"),
				       sum = export_with(
					       out, node, EXPORT_MULTIPLY, mean.text,
					       (double)tensor_last(export_tensor(out, node->output)), "sum");

	export_divided(out, node, x, &sum);
}

#define LAYER_NORM_ROW(name_of, export_of_row, ...)                                                          \
	{                                                                                                    \
		.name = #name_of, .inputs = 1, .shape = norm_shape, .forward = layer_norm_forward,           \
		.backward = layer_norm_backward, .reference = layer_norm_reference, .export = export_of_row, \
		##__VA_ARGS__                                                                                \
	}
#define TABLES(of)                                                          \
	.attributes = COUNT(of##_attributes), .attribute = of##_attributes, \
	.parameters = COUNT(of##_parameters), .parameter = of##_parameters
const struct op op_layer_norm =
	LAYER_NORM_ROW(layer_norm, layer_norm_export, .masking = MASKING_PASSES, TABLES(layer_norm));
const struct op op_rms_normalization =
	LAYER_NORM_ROW(rms_normalization, rms_export, .masking = MASKING_ENDS, TABLES(rms));
const struct op op_unit_normalization =
	LAYER_NORM_ROW(unit_normalization, unit_export, .masking = MASKING_PASSES);

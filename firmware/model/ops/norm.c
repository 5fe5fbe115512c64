/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm, layer_norm and normalization, over the last dimension as kernels/norm.cl sees it: [n, columns].
 */
#include "model/ops/row.h"
#include "model/random.h"

#include <math.h>
#include <string.h>

/* What one item of the tree of sums takes together: NORM_CHUNK of kernels/norm.cl. */
#define NORM_CHUNK 64u

static int norm_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		      struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	if (!input->rank)
		return error_set(err, -EINVAL, "found no dimensions of '%s', allowed: 1 .. %u", input->name,
				 CONFIG_SHAPE_MAX);
	return same_shape(graph, node, output, err);
}

/* A tensor of the node's own, [columns] each. */
static uint32_t work(struct plan *plan, const struct node *node, const char *name, uint64_t parts)
{
	const struct tensor shape = { .rank = 2, .shape = { parts, tensor_last(output_of(plan, node)) } };

	return plan_work(plan, node, name, &shape);
}

static struct argument optional(uint32_t tensor, enum argument_kind kind)
{
	if (tensor == GRAPH_NO_TENSOR)
		return (struct argument)AT(NULL);
	return (struct argument){ .kind = kind, .tensor = tensor };
}

static struct extent per_column(const struct tensor *tensor)
{
	return (struct extent){ .constant = tensor_last(tensor), .tile = ELEMENT_GROUP };
}

/* ---- The tree: a launch that makes chunks, then merges until one is left ---- */

struct tree {
	const char *chunk, *merge; /* kernels */
	const char *name;          /* of the tensors of parts */
	uint64_t sums;             /* of a part and column */
};

static const struct tree moments = { "column_moments", "merge_moments", "moments", 3 };
static const struct tree gradients_of_columns = { "column_gradients", "merge_gradients", "sums", 2 };
static const struct tree gradients_of_rows = { "row_gradients", "merge_gradients", "sums", 2 };

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* `launch` has its own arguments up to where the chunks go; returns the last parts, [sums, columns]. */
static uint32_t emit_tree(struct plan *plan, const struct node *node, const struct tree *tree,
			  struct launch launch)
{
	const struct tensor *output = output_of(plan, node);
	const uint64_t outer = tensor_outer(output), columns = tensor_last(output),
		       n = plan->graph->batch_rows * outer;
	const struct extent across = per_column(output);
	char name[64];
	uint64_t tile = NORM_CHUNK;
	uint32_t level = 0, parts;

	(void)snprintf(name, sizeof(name), "%s%u", tree->name, level);
	parts = work(plan, node, name, divide_up(n, tile) * tree->sums);
	launch.kernel = tree->chunk;
	launch.groups[0] = across;
	launch.groups[1] = (struct extent){ .per_row = outer, .tile = tile };
	launch.argument[launch.arguments++] = (struct argument)OUT(parts);
	launch.argument[launch.arguments++] = (struct argument)AT(ROWS);
	launch.argument[launch.arguments++] = (struct argument)INT(outer);
	launch.argument[launch.arguments++] = (struct argument)INT(columns);
	plan_emit(plan, &launch);
	for (; tile < n; tile *= NORM_CHUNK) {
		const uint32_t from = parts;

		(void)snprintf(name, sizeof(name), "%s%u", tree->name, ++level);
		parts = work(plan, node, name, divide_up(n, tile * NORM_CHUNK) * tree->sums);
		plan_emit(plan, &(struct launch){
					.kernel = tree->merge,
					.groups = { across, { .per_row = outer, .tile = tile * NORM_CHUNK } },
					.arguments = 6,
					.argument = { IN(from), OUT(parts), AT(ROWS), INT(outer), INT(tile),
						      INT(columns) },
				});
	}
	return parts;
}

enum { NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_VARIANCE };

/* (x - mean) / spread * gamma + beta; gamma and beta may be missing. */
static void export_scaled(struct export *out, const struct node *node, const char *centered,
			  const char *spread)
{
	const char *factor[2] = { export_parameter(out, node, NORM_GAMMA),
				  export_parameter(out, node, NORM_BETA) };
	const char *result = export_output(out, node);
	const struct export_part_name normal = export_part(node, "normal"),
				      scaled = export_part(node, "scaled");

	export_binary(out, EXPORT_DIVIDE, centered, spread, factor[0] || factor[1] ? normal.text : result);
	if (factor[0])
		export_binary(out, EXPORT_MULTIPLY, normal.text, factor[0], factor[1] ? scaled.text : result);
	if (factor[1])
		export_binary(out, EXPORT_ADD, factor[0] ? scaled.text : normal.text, factor[1], result);
}

/* sqrt(variance + epsilon) */
static struct export_part_name export_spread(struct export *out, const struct node *node,
					     const char *variance, double epsilon)
{
	const struct export_part_name sum =
		export_with(out, node, EXPORT_ADD, variance, epsilon, "variance_epsilon");

	return export_of(out, node, EXPORT_SQRT, sum.text, "spread");
}

/* ---- batch_norm ---- */

enum {
	BATCH_MOMENTUM,
	BATCH_EPSILON,
	BATCH_CENTER,
	BATCH_SCALE,
	BATCH_GAMMA_INITIALIZER,
	BATCH_BETA_INITIALIZER,
	BATCH_MEAN_INITIALIZER,
	BATCH_VARIANCE_INITIALIZER
};

#define INITIALIZER(key_of, usual)                                                                   \
	{                                                                                            \
		.key = key_of "_initializer", .kind = ATTRIBUTE_IS_NAME, .names = initializer_names, \
		.fallback_name = usual                                                               \
	}

static const struct attribute_spec batch_norm_attributes[] = {
	[BATCH_MOMENTUM] = { "momentum", ATTRIBUTE_IS_FLOAT, .fallback = 0.99, .max = 1 },
	[BATCH_EPSILON] = { "epsilon", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 1e-3, .max = 1 },
	[BATCH_CENTER] = { "center", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[BATCH_SCALE] = { "scale", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[BATCH_GAMMA_INITIALIZER] = INITIALIZER("gamma", "ones"),
	[BATCH_BETA_INITIALIZER] = INITIALIZER("beta", "zeros"),
	[BATCH_MEAN_INITIALIZER] = INITIALIZER("moving_mean", "zeros"),
	[BATCH_VARIANCE_INITIALIZER] = INITIALIZER("moving_variance", "ones"),
};

static const struct parameter_spec batch_norm_parameters[] = {
	[NORM_GAMMA] = { "gamma", BATCH_GAMMA_INITIALIZER, .only_if = BATCH_SCALE, .shape = { INPUT_LAST } },
	[NORM_BETA] = { "beta", BATCH_BETA_INITIALIZER, .only_if = BATCH_CENTER, .shape = { INPUT_LAST } },
	[NORM_MEAN] = { "moving_mean", BATCH_MEAN_INITIALIZER, .only_if = -1, .state = true,
			.shape = { INPUT_LAST } },
	[NORM_VARIANCE] = { "moving_variance", BATCH_VARIANCE_INITIALIZER, .only_if = -1, .state = true,
			    .shape = { INPUT_LAST } },
};

/* Mean and 1 / deviation of each column, from what the layer keeps. */
static void emit_given(struct plan *plan, const struct node *node, uint32_t saved, uint32_t mean,
		       uint32_t variance, double epsilon, double least)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "given_moments",
				.groups = { per_column(output) },
				.arguments = 6,
				.argument = { IN(mean), IN(variance), OUT(saved), FLOAT(epsilon),
					      FLOAT(least), INT(tensor_last(output)) },
			});
}

static void emit_normalize(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
			   uint32_t beta)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "normalize_columns",
				.groups = { per_element(output) },
				.arguments = 7,
				.argument = { IN(node->input[0]), IN(saved), optional(gamma, ARGUMENT_IN),
					      optional(beta, ARGUMENT_IN), OUT(node->output),
					      ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output)) },
			});
}

static void batch_norm_moments(struct plan *plan, const struct node *node, uint32_t saved)
{
	const double momentum = node->attribute[BATCH_MOMENTUM].f;
	const struct launch first = { .arguments = 2,
				      .argument = { IN(node->input[0]), IN(plan->graph->empty) } };
	const uint32_t last = emit_tree(plan, node, &moments, first);
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "batch_moments",
				.groups = { per_column(output) },
				.arguments = 8,
				.argument = { IN(last), OUT(saved), INOUT(node->parameter[NORM_MEAN]),
					      INOUT(node->parameter[NORM_VARIANCE]), FLOAT(momentum),
					      FLOAT(1 - momentum), FLOAT(node->attribute[BATCH_EPSILON].f),
					      INT(tensor_last(output)) },
			});
}

/* A frozen layer trains with what it keeps, as Keras's does. */
static void batch_norm_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint32_t saved = work(plan, node, "saved", 2);

	if (training && node->trainable)
		batch_norm_moments(plan, node, saved);
	else
		emit_given(plan, node, saved, node->parameter[NORM_MEAN], node->parameter[NORM_VARIANCE],
			   node->attribute[BATCH_EPSILON].f, 0);
	emit_normalize(plan, node, saved, node->parameter[NORM_GAMMA], node->parameter[NORM_BETA]);
}

/* `sums` GRAPH_NO_TENSOR: the statistics were given. */
static void emit_columns_backward(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
				  uint32_t sums)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "batch_norm_backward",
			  .groups = { per_element(output) },
			  .arguments = 12,
			  .argument = { IN(output->gradient), IN(node->input[0]), IN(saved),
					optional(gamma, ARGUMENT_IN), optional(sums, ARGUMENT_IN),
					IN(plan->graph->empty), OUT(dx), INT(add), AT(ROWS), AT(VALID_ROWS),
					INT(tensor_outer(output)), INT(tensor_last(output)) },
		  });
}

static void emit_parameter_gradients(struct plan *plan, const struct node *node, uint32_t sums)
{
	const struct tensor *output = output_of(plan, node);
	const uint32_t gamma = parameter_gradient(plan, node, NORM_GAMMA),
		       beta = parameter_gradient(plan, node, NORM_BETA);

	if (gamma == GRAPH_NO_TENSOR && beta == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "norm_parameter_gradients",
				.groups = { per_column(output) },
				.arguments = 4,
				.argument = { IN(sums), optional(gamma, ARGUMENT_OUT),
					      optional(beta, ARGUMENT_OUT), INT(tensor_last(output)) },
			});
}

static void batch_norm_backward(struct plan *plan, const struct node *node)
{
	const uint32_t saved = work(plan, node, "saved", 2);
	const struct launch first = { .arguments = 3,
				      .argument = { IN(output_of(plan, node)->gradient), IN(node->input[0]),
						    IN(saved) } };
	uint32_t sums = GRAPH_NO_TENSOR;

	if (node->trainable) {
		sums = emit_tree(plan, node, &gradients_of_columns, first);
		emit_parameter_gradients(plan, node, sums);
	}
	emit_columns_backward(plan, node, saved, node->parameter[NORM_GAMMA], sums);
}

/* ---- References of all three: [n, columns] ---- */

struct view {
	uint64_t n, outer, columns;
	double mean, scale; /* of one column or row */
};

static struct view view_of(const struct op_reference *r)
{
	const struct tensor *output = graph_at(r->graph, r->node->output);

	return (struct view){ .n = r->rows * tensor_outer(output),
			      .outer = tensor_outer(output),
			      .columns = tensor_last(output) };
}

static bool row_counts(const struct op_reference *r, const struct view *view, uint64_t row)
{
	return !r->empty || !r->empty[row / view->outer];
}

static double or_else(const double *numbers, uint64_t i, double usual)
{
	return numbers ? numbers[i] : usual;
}

/* Returns how many rows there are. */
static uint64_t column_statistics(const struct op_reference *r, const struct view *view, uint64_t c,
				  double *ret_mean, double *ret_variance)
{
	uint64_t count = 0;

	*ret_mean = *ret_variance = 0;
	for (uint64_t row = 0; row < view->n; row++)
		if (row_counts(r, view, row)) {
			*ret_mean += r->x[0][row * view->columns + c];
			count++;
		}
	*ret_mean /= count ? (double)count : 1;
	for (uint64_t row = 0; row < view->n; row++)
		if (row_counts(r, view, row))
			*ret_variance += pow(r->x[0][row * view->columns + c] - *ret_mean, 2);
	*ret_variance /= count ? (double)count : 1;
	return count;
}

static void column_forward(const struct op_reference *r, const struct view *view, uint64_t c,
			   const double *gamma, const double *beta)
{
	for (uint64_t row = 0; row < view->n; row++) {
		const uint64_t i = row * view->columns + c;

		r->y[i] =
			(r->x[0][i] - view->mean) * view->scale * or_else(gamma, c, 1) + or_else(beta, c, 0);
	}
}

/* `of` the rows that the statistics are of; 0: they were given. */
static void column_backward(const struct op_reference *r, const struct view *view, uint64_t c, uint64_t of,
			    const double *gamma)
{
	double sum = 0, product = 0;

	for (uint64_t row = 0; row < view->n; row++) {
		const uint64_t i = row * view->columns + c;

		sum += r->dy[i];
		product += r->dy[i] * (r->x[0][i] - view->mean) * view->scale;
	}
	if (r->dparameter[NORM_GAMMA])
		r->dparameter[NORM_GAMMA][c] = product;
	if (r->dparameter[NORM_BETA])
		r->dparameter[NORM_BETA][c] = sum;
	for (uint64_t row = 0; r->dx[0] && row < view->n; row++) {
		const uint64_t i = row * view->columns + c;
		const double x = (r->x[0][i] - view->mean) * view->scale;
		double v = r->dy[i];

		if (of)
			v = row_counts(r, view, row) ? v - (sum + x * product) / (double)of : 0;
		r->dx[0][i] = v * view->scale * or_else(gamma, c, 1);
	}
}

static void batch_norm_reference(const struct op_reference *r)
{
	const struct node *node = r->node;
	const double momentum = node->attribute[BATCH_MOMENTUM].f, epsilon = node->attribute[BATCH_EPSILON].f;
	double *moving_mean = r->parameter[NORM_MEAN], *moving_variance = r->parameter[NORM_VARIANCE];
	struct view view = view_of(r);

	for (uint64_t c = 0; c < view.columns; c++) {
		double mean = moving_mean[c], variance = moving_variance[c];
		uint64_t of = 0;

		if (r->training && node->trainable)
			of = column_statistics(r, &view, c, &mean, &variance);
		view.mean = mean;
		view.scale = 1 / sqrt(variance + epsilon);
		column_forward(r, &view, c, r->parameter[NORM_GAMMA], r->parameter[NORM_BETA]);
		if (r->dy)
			column_backward(r, &view, c, of, r->parameter[NORM_GAMMA]);
		else if (of) {
			moving_mean[c] = moving_mean[c] * momentum + mean * (1 - momentum);
			moving_variance[c] = moving_variance[c] * momentum + variance * (1 - momentum);
		}
	}
}

static void batch_norm_export(struct export *out, const struct node *node)
{
	const struct export_part_name centered = export_both(
					      out, node, EXPORT_SUBTRACT, export_input(out, node, 0),
					      export_parameter(out, node, NORM_MEAN), "centered"),
				      spread = export_spread(out, node,
							     export_parameter(out, node, NORM_VARIANCE),
							     node->attribute[BATCH_EPSILON].f);

	export_scaled(out, node, centered.text, spread.text);
}

const struct op op_batch_norm = {
	.name = "batch_norm",
	.inputs = 1,
	.attributes = COUNT(batch_norm_attributes),
	.attribute = batch_norm_attributes,
	.parameters = COUNT(batch_norm_parameters),
	.parameter = batch_norm_parameters,
	.shape = norm_shape,
	.forward = batch_norm_forward,
	.backward = batch_norm_backward,
	.reference = batch_norm_reference,
	.export = batch_norm_export,
};

/* ---- layer_norm ---- */

enum { LAYER_EPSILON, LAYER_CENTER, LAYER_SCALE, LAYER_GAMMA_INITIALIZER, LAYER_BETA_INITIALIZER };

static const struct attribute_spec layer_norm_attributes[] = {
	[LAYER_EPSILON] = { "epsilon", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 1e-3, .max = 1 },
	[LAYER_CENTER] = { "center", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[LAYER_SCALE] = { "scale", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[LAYER_GAMMA_INITIALIZER] = INITIALIZER("gamma", "ones"),
	[LAYER_BETA_INITIALIZER] = INITIALIZER("beta", "zeros"),
};

static const struct parameter_spec layer_norm_parameters[] = {
	[NORM_GAMMA] = { "gamma", LAYER_GAMMA_INITIALIZER, .only_if = LAYER_SCALE, .shape = { INPUT_LAST } },
	[NORM_BETA] = { "beta", LAYER_BETA_INITIALIZER, .only_if = LAYER_CENTER, .shape = { INPUT_LAST } },
};

/* Mean and 1 / deviation of each row. */
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
				.kernel = "layer_norm",
				.groups = { per_outer(output) },
				.arguments = 8,
				.argument = { IN(node->input[0]),
					      optional(node->parameter[NORM_GAMMA], ARGUMENT_IN),
					      optional(node->parameter[NORM_BETA], ARGUMENT_IN), OUT(stats),
					      OUT(node->output), FLOAT(node->attribute[LAYER_EPSILON].f),
					      ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output)) },
			});
}

static void layer_norm_backward(struct plan *plan, const struct node *node)
{
	const uint32_t stats = row_statistics(plan, node);
	const struct tensor *output = output_of(plan, node);
	const struct launch first = { .arguments = 3,
				      .argument = { IN(output->gradient), IN(node->input[0]), IN(stats) } };
	const uint64_t outer = tensor_outer(output), columns = tensor_last(output);
	const uint32_t dy = output->gradient;
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (parameter_gradient(plan, node, NORM_GAMMA) != GRAPH_NO_TENSOR ||
	    parameter_gradient(plan, node, NORM_BETA) != GRAPH_NO_TENSOR)
		emit_parameter_gradients(plan, node, emit_tree(plan, node, &gradients_of_rows, first));
	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "layer_norm_backward",
				.groups = { { .per_row = outer, .tile = ROW_GROUP } },
				.arguments = 8,
				.argument = { IN(dy), IN(node->input[0]),
					      optional(node->parameter[NORM_GAMMA], ARGUMENT_IN), IN(stats),
					      OUT(dx), INT(add), ROWS_TIMES(outer), INT(columns) },
			});
}

static void row_forward(const struct op_reference *r, struct view *view, uint64_t row)
{
	const double *x = r->x[0] + row * view->columns, count = (double)view->columns;
	double *y = r->y + row * view->columns, variance = 0;

	view->mean = 0;
	for (uint64_t c = 0; c < view->columns; c++)
		view->mean += x[c] / count;
	for (uint64_t c = 0; c < view->columns; c++)
		variance += (x[c] - view->mean) * (x[c] - view->mean) / count;
	view->scale = 1 / sqrt(variance + r->node->attribute[LAYER_EPSILON].f);
	for (uint64_t c = 0; c < view->columns; c++)
		y[c] = (x[c] - view->mean) * view->scale * or_else(r->parameter[NORM_GAMMA], c, 1) +
		       or_else(r->parameter[NORM_BETA], c, 0);
}

static void row_backward(const struct op_reference *r, const struct view *view, uint64_t row)
{
	const double *x = r->x[0] + row * view->columns, *dy = r->dy + row * view->columns;
	double sum = 0, product = 0;

	for (uint64_t c = 0; c < view->columns; c++) {
		const double x1 = (x[c] - view->mean) * view->scale,
			     g = dy[c] * or_else(r->parameter[NORM_GAMMA], c, 1);

		sum += g;
		product += g * x1;
		if (r->dparameter[NORM_GAMMA])
			r->dparameter[NORM_GAMMA][c] += dy[c] * x1;
		if (r->dparameter[NORM_BETA])
			r->dparameter[NORM_BETA][c] += dy[c];
	}
	for (uint64_t c = 0; r->dx[0] && c < view->columns; c++) {
		const double x1 = (x[c] - view->mean) * view->scale,
			     g = dy[c] * or_else(r->parameter[NORM_GAMMA], c, 1);

		r->dx[0][row * view->columns + c] =
			(g - (sum + x1 * product) / (double)view->columns) * view->scale;
	}
}

static void layer_norm_reference(const struct op_reference *r)
{
	struct view view = view_of(r);

	for (uint32_t i = 0; r->dy && i < 2; i++)
		if (r->dparameter[i])
			memset(r->dparameter[i], 0, view.columns * sizeof(double));
	for (uint64_t row = 0; row < view.n; row++) {
		row_forward(r, &view, row);
		if (r->dy)
			row_backward(r, &view, row);
	}
}

/* The mean over the last dimension, which stays. */
static struct export_part_name export_mean(struct export *out, const struct node *node, const char *of,
					   const char *part)
{
	const struct export_part_name name = export_part(node, part);

	export_node(out, &(struct export_node){ .kind = EXPORT_MEAN,
						.output = name.text,
						.input = { of },
						.axes = { -1 },
						.axis_count = 1,
						.keep = true });
	return name;
}

static void layer_norm_export(struct export *out, const struct node *node)
{
	const char *x = export_input(out, node, 0);
	const struct export_part_name mean = export_mean(out, node, x, "mean"),
				      centered = export_both(out, node, EXPORT_SUBTRACT, x, mean.text,
							     "centered"),
				      squares = export_both(out, node, EXPORT_MULTIPLY, centered.text,
							    centered.text, "squares"),
				      variance = export_mean(out, node, squares.text, "variance"),
				      spread = export_spread(out, node, variance.text,
							     node->attribute[LAYER_EPSILON].f);

	export_scaled(out, node, centered.text, spread.text);
}

const struct op op_layer_norm = {
	.name = "layer_norm",
	.inputs = 1,
	.attributes = COUNT(layer_norm_attributes),
	.attribute = layer_norm_attributes,
	.parameters = COUNT(layer_norm_parameters),
	.parameter = layer_norm_parameters,
	.shape = norm_shape,
	.forward = layer_norm_forward,
	.backward = layer_norm_backward,
	.reference = layer_norm_reference,
	.export = layer_norm_export,
};

/* ---- normalization: (x - mean) / max(sqrt(variance), 1e-7), of statistics that adapt.h makes, or that are
 * loaded ---- */

enum { NORMALIZATION_MEAN, NORMALIZATION_VARIANCE };

/* keras.config.epsilon() */
#define NORMALIZATION_LEAST 1e-7

/* Numbers for all columns. */
static const struct attribute_spec normalization_attributes[] = {
	[NORMALIZATION_MEAN] = { "mean", ATTRIBUTE_IS_FLOAT, .min = -1e30, .max = 1e30 },
	[NORMALIZATION_VARIANCE] = { "variance", ATTRIBUTE_IS_FLOAT, .min = 0, .max = 1e30 },
};

static int normalization_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			       struct error *err)
{
	const struct attribute *given = node->attribute;

	if (given[NORMALIZATION_MEAN].f != 0 && !(given[NORMALIZATION_VARIANCE].f > 0))
		return error_set(err, -EINVAL, "found mean %g without a variance, allowed: both or neither",
				 given[NORMALIZATION_MEAN].f);
	return norm_shape(graph, node, output, err);
}

static const struct parameter_spec normalization_parameters[] = {
	[NORMALIZATION_MEAN] = { "mean", .initial = "zeros", .only_if = -1, .state = true,
				 .shape = { INPUT_LAST } },
	[NORMALIZATION_VARIANCE] = { "variance", .initial = "ones", .only_if = -1, .state = true,
				     .shape = { INPUT_LAST } },
};

static void normalization_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint32_t saved = work(plan, node, "saved", 2);

	(void)training;
	emit_given(plan, node, saved, node->parameter[NORMALIZATION_MEAN],
		   node->parameter[NORMALIZATION_VARIANCE], 0, NORMALIZATION_LEAST);
	emit_normalize(plan, node, saved, GRAPH_NO_TENSOR, GRAPH_NO_TENSOR);
}

static void normalization_backward(struct plan *plan, const struct node *node)
{
	emit_columns_backward(plan, node, work(plan, node, "saved", 2), GRAPH_NO_TENSOR, GRAPH_NO_TENSOR);
}

static void normalization_reference(const struct op_reference *r)
{
	struct view view = view_of(r);

	for (uint64_t i = 0; i < view.n * view.columns; i++) {
		const uint64_t c = i % view.columns;
		const double scale =
			1 / fmax(sqrt(r->parameter[NORMALIZATION_VARIANCE][c]), NORMALIZATION_LEAST);

		r->y[i] = (r->x[0][i] - r->parameter[NORMALIZATION_MEAN][c]) * scale;
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->dy[i] * scale;
	}
}

/* max(a, b) = a + relu(b - a) */
static void normalization_export(struct export *out, const struct node *node)
{
	const struct export_part_name centered = export_both(
					      out, node, EXPORT_SUBTRACT, export_input(out, node, 0),
					      export_parameter(out, node, NORMALIZATION_MEAN), "centered"),
				      spread = export_of(out, node, EXPORT_SQRT,
							 export_parameter(out, node, NORMALIZATION_VARIANCE),
							 "spread"),
				      above = export_with(out, node, EXPORT_SUBTRACT, spread.text,
							  NORMALIZATION_LEAST, "above"),
				      positive = export_of(out, node, EXPORT_RELU, above.text, "positive"),
				      bounded = export_with(out, node, EXPORT_ADD, positive.text,
							    NORMALIZATION_LEAST, "bounded");

	export_binary(out, EXPORT_DIVIDE, centered.text, bounded.text, export_output(out, node));
}

const struct op op_normalization = {
	.name = "normalization",
	.inputs = 1,
	.adapts = true,
	.attributes = COUNT(normalization_attributes),
	.attribute = normalization_attributes,
	.parameters = COUNT(normalization_parameters),
	.parameter = normalization_parameters,
	.shape = normalization_shape,
	.forward = normalization_forward,
	.backward = normalization_backward,
	.reference = normalization_reference,
	.export = normalization_export,
};

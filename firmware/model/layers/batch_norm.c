/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph/random.h"
#include "model/layers/norm.h"
#include "model/plan/parts.h"

#include <math.h>

static const struct norm_tree moments = { "column_moments", "merge_moments", "column_moments_lines",
					  "moments", 3 };
static const struct norm_tree gradients_of_columns = { "column_gradients", "merge_gradients",
						       "column_gradients_lines", "sums", 2 };

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

static const struct attribute_spec batch_norm_attributes[] = {
	[BATCH_MOMENTUM] = { "momentum", ATTRIBUTE_IS_FLOAT, .fallback = 0.99, .max = 1 },
	[BATCH_EPSILON] = { "epsilon", ATTRIBUTE_IS_FLOAT, .hashed = true, .fallback = 1e-3, .max = 1 },
	[BATCH_CENTER] = { "center", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[BATCH_SCALE] = { "scale", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[BATCH_GAMMA_INITIALIZER] = NORM_INITIALIZER("gamma", "ones"),
	[BATCH_BETA_INITIALIZER] = NORM_INITIALIZER("beta", "zeros"),
	[BATCH_MEAN_INITIALIZER] = NORM_INITIALIZER("moving_mean", "zeros"),
	[BATCH_VARIANCE_INITIALIZER] = NORM_INITIALIZER("moving_variance", "ones"),
};

static const struct parameter_spec batch_norm_parameters[] = {
	[NORM_GAMMA] = { "gamma", BATCH_GAMMA_INITIALIZER, .only_if = BATCH_SCALE, .shape = { INPUT_LAST } },
	[NORM_BETA] = { "beta", BATCH_BETA_INITIALIZER, .only_if = BATCH_CENTER, .shape = { INPUT_LAST } },
	[NORM_MEAN] = { "moving_mean", BATCH_MEAN_INITIALIZER, .only_if = -1, .state = true,
			.shape = { INPUT_LAST } },
	[NORM_VARIANCE] = { "moving_variance", BATCH_VARIANCE_INITIALIZER, .only_if = -1, .state = true,
			    .shape = { INPUT_LAST } },
};

static void batch_norm_moments(struct plan *plan, const struct node *node, uint32_t saved)
{
	const double momentum = node->attribute[BATCH_MOMENTUM].f;
	const struct launch first = { ARGUMENTS(IN(node->input[0]), IN(plan->graph->empty)) };
	const uint32_t last = norm_emit_tree(plan, node, &moments, first);
	const struct tensor *output = output_of(plan, node);
	const bool parts = plan->graph->parts > 1;
	const uint32_t mean = node->parameter[NORM_MEAN], variance = node->parameter[NORM_VARIANCE];

	/* With several micro-batches the statistics themselves are kept: batch_norm_apply() averages them. */
	plan_emit(plan, &(struct launch){
				.kernel = "batch_moments",
				.groups = { norm_per_column(output) },
				ARGUMENTS(IN(last), OUT(saved),
					  INOUT(parts ? graph_at(plan->graph, mean)->gradient : mean),
					  INOUT(parts ? graph_at(plan->graph, variance)->gradient : variance),
					  FLOAT(parts ? 0 : momentum), FLOAT(parts ? 1 : 1 - momentum),
					  FLOAT(node->attribute[BATCH_EPSILON].f), INT(tensor_last(output))),
			});
}

static void batch_norm_apply(struct plan *plan, const struct node *node)
{
	for (uint32_t k = NORM_MEAN; k <= NORM_VARIANCE; k++)
		parts_emit_average(plan, node->parameter[k], node->attribute[BATCH_MOMENTUM].f);
}

/* As in Keras, a frozen layer uses its moving statistics in training, too. */
static void batch_norm_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint32_t saved = norm_work(plan, node, "saved", 2);

	if (training && node->trainable)
		batch_norm_moments(plan, node, saved);
	else
		norm_emit_given(plan, node, saved, node->parameter[NORM_MEAN], node->parameter[NORM_VARIANCE],
				node->attribute[BATCH_EPSILON].f, 0);
	norm_emit_normalize(plan, node, saved, node->parameter[NORM_GAMMA], node->parameter[NORM_BETA]);
}

static void batch_norm_backward(struct plan *plan, const struct node *node)
{
	const uint32_t saved = norm_work(plan, node, "saved", 2);
	const struct launch first = { ARGUMENTS(IN(output_of(plan, node)->gradient), IN(node->input[0]),
						IN(saved)) };
	uint32_t sums = GRAPH_NO_TENSOR;

	if (node->trainable) {
		sums = norm_emit_tree(plan, node, &gradients_of_columns, first);
		norm_emit_parameter_gradients(plan, node, sums);
	}
	norm_emit_columns_backward(plan, node, saved, node->parameter[NORM_GAMMA], sums);
}

/* ---- Reference ---- */

static bool row_counts(const struct op_reference *r, const struct norm_view *view, uint64_t row)
{
	return !r->empty || !r->empty[row / view->outer];
}

/* Computes mean and variance of column c over all rows that are not empty. Returns how many these are. */
static uint64_t column_statistics(const struct op_reference *r, const struct norm_view *view, uint64_t c,
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

static void column_forward(const struct op_reference *r, const struct norm_view *view, uint64_t c,
			   const double *gamma, const double *beta)
{
	for (uint64_t row = 0; row < view->n; row++) {
		const uint64_t i = row * view->columns + c;

		r->y[i] = (r->x[0][i] - view->mean) * view->scale * norm_or_else(gamma, c, 1) +
			  norm_or_else(beta, c, 0);
	}
}

/* `of` is the number of rows from which the statistics were computed; 0: they were given. */
static void column_backward(const struct op_reference *r, const struct norm_view *view, uint64_t c,
			    uint64_t of, const double *gamma)
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
		r->dx[0][i] = v * view->scale * norm_or_else(gamma, c, 1);
	}
}

static void batch_norm_reference(const struct op_reference *r)
{
	const struct node *node = r->node;
	const double momentum = node->attribute[BATCH_MOMENTUM].f, epsilon = node->attribute[BATCH_EPSILON].f;
	double *moving_mean = r->parameter[NORM_MEAN], *moving_variance = r->parameter[NORM_VARIANCE];
	struct norm_view view = norm_view_of(r);

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
	const struct export_inner_name centered = export_both(
					       out, node, EXPORT_SUBTRACT, export_input(out, node, 0),
					       export_parameter(out, node, NORM_MEAN), "centered"),
				       spread = norm_export_spread(out, node,
								   export_parameter(out, node, NORM_VARIANCE),
								   node->attribute[BATCH_EPSILON].f);

	norm_export_scaled(out, node, centered.text, spread.text);
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
	.apply = batch_norm_apply,
	.reference = batch_norm_reference,
	.export = batch_norm_export,
};

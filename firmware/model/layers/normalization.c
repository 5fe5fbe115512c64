/* SPDX-License-Identifier: Apache-2.0 */
/* (x - mean) / max(sqrt(variance), 1e-7), with statistics of the data: adapt.h computes them, or a file or
 * the configuration gives them. */
#include "model/layers/norm.h"

#include <math.h>

enum { NORMALIZATION_MEAN, NORMALIZATION_VARIANCE };

/* Smallest deviation by which the layer divides: keras.config.epsilon(). */
#define NORMALIZATION_LEAST 1e-7

/* The configuration may give one mean and one variance, which then hold for all columns. */
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
	const uint32_t saved = norm_work(plan, node, "saved", 2);

	(void)training;
	norm_emit_given(plan, node, saved, node->parameter[NORMALIZATION_MEAN],
			node->parameter[NORMALIZATION_VARIANCE], 0, NORMALIZATION_LEAST);
	norm_emit_normalize(plan, node, saved, GRAPH_NO_TENSOR, GRAPH_NO_TENSOR);
}

static void normalization_backward(struct plan *plan, const struct node *node)
{
	norm_emit_columns_backward(plan, node, norm_work(plan, node, "saved", 2), GRAPH_NO_TENSOR,
				   GRAPH_NO_TENSOR);
}

static void normalization_reference(const struct op_reference *r)
{
	struct norm_view view = norm_view_of(r);

	for (uint64_t i = 0; i < view.n * view.columns; i++) {
		const uint64_t c = i % view.columns;
		const double scale =
			1 / fmax(sqrt(r->parameter[NORMALIZATION_VARIANCE][c]), NORMALIZATION_LEAST);

		r->y[i] = (r->x[0][i] - r->parameter[NORMALIZATION_MEAN][c]) * scale;
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->dy[i] * scale;
	}
}

/* Exports max(a, b) as a + relu(b - a). */
static void normalization_export(struct export *out, const struct node *node)
{
	const struct export_inner_name centered = export_both(
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

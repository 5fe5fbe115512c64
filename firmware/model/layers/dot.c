/* SPDX-License-Identifier: Apache-2.0 */
/* dot: the sum of the products of two vectors of one length, [K] and [K] make [1]. Two layers
 * unit_normalization before it make it the cosine of the angle between the vectors. */
#include "model/layers/row.h"

enum { DOT_AXES };

/* The only axis of a vector is 1, or counted from the end -1. */
static const struct attribute_spec dot_attributes[] = {
	[DOT_AXES] = { "axes", ATTRIBUTE_IS_INTS, .required = true, .hashed = true, .min = -1, .max = 1,
		       .items_min = 1, .items_max = 2, .one_for_all = true },
};

static int dot_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err)
{
	const struct attribute *axes = &node->attribute[DOT_AXES];
	const struct tensor *first = graph_at(graph, node->input[0]);
	char text[SHAPE_TEXT_BYTES];

	if (first->rank != 1)
		return error_set(err, -EINVAL, "found '%s' of shape %s, allowed: one dimension", first->name,
				 shape_text(first, text));
	for (uint32_t i = 0; i < axes->items; i++)
		if (!axes->item[i])
			return error_set(err, -EINVAL, "found axis 0, the rows of a batch, allowed: 1 or -1");
	if (same_shapes(graph, node, output, err) < 0)
		return -EINVAL;
	output->shape[0] = 1;
	return 0;
}

static void dot_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint64_t length = input_of(plan, node, 0)->elements;

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = "multiply_sum",
				.groups = { { .per_row = 1, .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(node->input[0]), IN(node->input[1]), OUT(node->output), INT(0),
					  AT(ROWS), INT(length), INT(1), INT(length)),
			});
}

/* The gradient of an input is the other input times the gradient of the output. */
static void dot_backward(struct plan *plan, const struct node *node)
{
	const uint64_t length = input_of(plan, node, 0)->elements;

	for (uint32_t i = 0; i < 2; i++) {
		bool add = false;
		const uint32_t dx = plan_gradient(plan, node->input[i], &add);

		if (dx != GRAPH_NO_TENSOR)
			plan_emit(plan, &(struct launch){
						.kernel = "multiply_two",
						.groups = { { .per_row = length, .tile = ELEMENT_GROUP } },
						ARGUMENTS(IN(node->input[1 - i]),
							  IN(output_of(plan, node)->gradient), OUT(dx),
							  INT(add), AT(ROWS), INT(length), INT(1)),
					});
	}
}

static void dot_reference(const struct op_reference *r)
{
	for (uint64_t row = 0; row < r->rows; row++) {
		r->y[row] = 0;
		for (uint64_t at = row * r->inputs; at < (row + 1) * r->inputs; at++) {
			r->y[row] += r->x[0][at] * r->x[1][at];
			for (uint32_t i = 0; i < 2; i++)
				if (r->dy && r->dx[i])
					r->dx[i][at] = r->dy[row] * r->x[1 - i][at];
		}
	}
}

/* The sum of the products is their mean times the numbers of a row. */
static void dot_export(struct export *out, const struct node *node)
{
	const struct export_inner_name products = export_both(out, node, EXPORT_MULTIPLY,
							      export_input(out, node, 0),
							      export_input(out, node, 1), "products"),
				       mean = export_inner(node, "mean"),
				       length = export_inner(node, "length");

	export_node(out, &(struct export_node){ .kind = EXPORT_MEAN,
						.output = mean.text,
						.input = { products.text },
						.axes = { 1 },
						.axis_count = 1,
						.keep_axes = true });
	export_float(out, length.text, (double)export_tensor(out, node->input[0])->elements);
	export_binary(out, EXPORT_MULTIPLY, mean.text, length.text, export_output(out, node));
}

const struct op op_dot = {
	.name = "dot",
	.masking = MASKING_ENDS,
	.inputs = 2,
	.attributes = COUNT(dot_attributes),
	.attribute = dot_attributes,
	.shape = dot_shape,
	.forward = dot_forward,
	.backward = dot_backward,
	.reference = dot_reference,
	.export = dot_export,
};

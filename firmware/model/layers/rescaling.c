/* SPDX-License-Identifier: Apache-2.0 */
/* y = x * scale + offset. Pixels of 0 .. 255 become numbers of 0 .. 1 with scale = 1 / 255. */
#include "model/layers/row.h"

enum { RESCALING_SCALE, RESCALING_OFFSET };

static const struct attribute_spec rescaling_attributes[] = {
	[RESCALING_SCALE] = { "scale", ATTRIBUTE_IS_FLOAT, .required = true, .hashed = true, .min = -1e30,
			      .max = 1e30 },
	[RESCALING_OFFSET] = { "offset", ATTRIBUTE_IS_FLOAT, .hashed = true, .min = -1e30, .max = 1e30 },
};

static void rescaling_emit(struct plan *plan, const struct node *node, uint32_t from, uint32_t to,
			   double offset, bool add)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "rescale",
				.groups = { per_element(output) },
				ARGUMENTS(IN(from), OUT(to), FLOAT(node->attribute[RESCALING_SCALE].f),
					  FLOAT(offset), INT(add), AT(ROWS), INT(output->elements)),
			});
}

static void rescaling_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	rescaling_emit(plan, node, node->input[0], node->output, node->attribute[RESCALING_OFFSET].f, false);
}

static void rescaling_backward(struct plan *plan, const struct node *node)
{
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx != GRAPH_NO_TENSOR)
		rescaling_emit(plan, node, output_of(plan, node)->gradient, dx, 0, add);
}

static void rescaling_reference(const struct op_reference *r)
{
	const double scale = (double)(float)r->node->attribute[RESCALING_SCALE].f;

	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		r->y[i] = r->x[0][i] * scale + (double)(float)r->node->attribute[RESCALING_OFFSET].f;
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->dy[i] * scale;
	}
}

static void rescaling_export(struct export *out, const struct node *node)
{
	const struct export_inner_name scaled = export_with(out, node, EXPORT_MULTIPLY,
							    export_input(out, node, 0),
							    node->attribute[RESCALING_SCALE].f, "scaled"),
				       offset = export_inner(node, "offset");

	export_float(out, offset.text, node->attribute[RESCALING_OFFSET].f);
	export_binary(out, EXPORT_ADD, scaled.text, offset.text, export_output(out, node));
}

const struct op op_rescaling = {
	.name = "rescaling",
	.inputs = 1,
	.attributes = COUNT(rescaling_attributes),
	.attribute = rescaling_attributes,
	.masking = MASKING_PASSES,
	.shape = same_shape,
	.forward = rescaling_forward,
	.backward = rescaling_backward,
	.reference = rescaling_reference,
	.export = rescaling_export,
};

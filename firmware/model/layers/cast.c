/* SPDX-License-Identifier: Apache-2.0 */
/* y = (float)x: integers of a feature as numbers, rounded to the nearest as TensorFlow's cast does it. */
#include "model/layers/row.h"

static void cast_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "integers_to_stored",
			  .groups = { per_element(output) },
			  ARGUMENTS(IN(node->input[0]), OUT(node->output), AT(ROWS), INT(output->elements)),
		  });
}

static void cast_reference(const struct op_reference *r)
{
	for (uint64_t i = 0; i < r->rows * r->outputs; i++)
		r->y[i] = (double)(float)r->x[0][i];
}

static void cast_export(struct export *out, const struct node *node)
{
	export_node(out, &(struct export_node){ .kind = EXPORT_FLOAT,
						.dtype = DTYPE_I64,
						.output = export_output(out, node),
						.input = { export_input(out, node, 0) } });
}

const struct op op_cast = {
	.name = "cast",
	.inputs = 1,
	.reads = DTYPE_I64,
	.casts = true,
	.shape = same_shape,
	.forward = cast_forward,
	.reference = cast_reference,
	.export = cast_export,
};

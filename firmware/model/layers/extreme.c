/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maximum, minimum: for each number the largest or smallest one of the inputs, which have one shape. As in
 * TensorFlow the gradient goes to the first input that has this number. A NaN in an input makes a NaN.
 */
#include "model/layers/row.h"

extern const struct op op_maximum;

/* Returns the factor with which the number that is taken is the largest one. */
static float sign_of(const struct node *node)
{
	return node->op == &op_maximum ? 1 : -1;
}

static void extreme_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	for (uint32_t i = 1; i < node->inputs; i++)
		plan_emit(plan, &(struct launch){
					.kernel = "extreme_two",
					.groups = { per_element(output) },
					ARGUMENTS(IN(i == 1 ? node->input[0] : node->output),
						  IN(node->input[i]), OUT(node->output), FLOAT(sign_of(node)),
						  AT(ROWS), INT(output->elements)),
				});
}

/* Each launch takes the gradients of its input out of what the inputs before it have left. */
static void extreme_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	const struct tensor shape = *output;
	const uint32_t left = plan_work(plan, node, "left", &shape);

	for (uint32_t i = 0; i < node->inputs; i++) {
		bool add = false;
		const uint32_t dx = plan_gradient(plan, node->input[i], &add);

		plan_emit(plan,
			  &(struct launch){
				  .kernel = "extreme_backward",
				  .groups = { per_element(output) },
				  ARGUMENTS(IN(i ? left : output->gradient), IN(node->input[i]),
					    IN(node->output), OUT(left), argument_optional(dx, ARGUMENT_OUT),
					    INT(add), AT(ROWS), INT(output->elements)),
			  });
	}
}

static void extreme_reference(const struct op_reference *r)
{
	const double sign = (double)sign_of(r->node);

	for (uint64_t e = 0; e < r->rows * r->outputs; e++) {
		uint32_t first = 0;

		for (uint32_t i = 1; i < r->node->inputs; i++)
			if (sign * r->x[i][e] > sign * r->x[first][e])
				first = i;
		r->y[e] = r->x[first][e];
		for (uint32_t i = 0; i < r->node->inputs; i++)
			if (r->dy && r->dx[i])
				r->dx[i][e] = i == first ? r->dy[e] : 0;
	}
}

static void maximum_export(struct export *out, const struct node *node)
{
	export_fold(out, node, EXPORT_MAXIMUM, "largest", export_output(out, node));
}

static void minimum_export(struct export *out, const struct node *node)
{
	export_fold(out, node, EXPORT_MINIMUM, "smallest", export_output(out, node));
}

#define EXTREME_ROW(name_of)                                                                              \
	{                                                                                                 \
		.name = #name_of, .inputs = 2, .inputs_max = CONFIG_INPUTS_MAX, .shape = same_shapes,     \
		.forward = extreme_forward, .backward = extreme_backward, .reference = extreme_reference, \
		.export = name_of##_export                                                                \
	}
const struct op op_maximum = EXTREME_ROW(maximum);
const struct op op_minimum = EXTREME_ROW(minimum);

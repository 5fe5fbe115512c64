/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of inputs of one shape, each times its weight, in the order of the inputs: add has the weights 1, 1,
 * ...; subtract 1, -1; average 1 / inputs. */
#include "model/layers/row.h"

extern const struct op op_add, op_subtract, op_average;

static double weight_of(const struct node *node, uint32_t i)
{
	if (node->op == &op_average)
		return 1.0 / node->inputs;
	return node->op == &op_subtract && i == 1 ? -1 : 1;
}

/* Appends to (+)= from * weight of input i. */
static void emit_weighted(struct plan *plan, const struct node *node, uint32_t i, uint32_t from, uint32_t to,
			  bool add)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "rescale",
				.groups = { per_element(output) },
				ARGUMENTS(IN(from), OUT(to), FLOAT(weight_of(node, i)), FLOAT(0), INT(add),
					  AT(ROWS), INT(output->elements)),
			});
}

static void weighted_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	for (uint32_t i = 0; i < node->inputs; i++)
		emit_weighted(plan, node, i, node->input[i], node->output, i > 0);
}

/* The same as weighted_forward(), in one launch less. */
static void add_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	for (uint32_t i = 1; i < node->inputs; i++)
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "add_two",
				  .groups = { per_element(output) },
				  ARGUMENTS(IN(i == 1 ? node->input[0] : node->output), IN(node->input[i]),
					    OUT(node->output), AT(ROWS), INT(output->elements)),
			  });
}

static void sum_backward(struct plan *plan, const struct node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++) {
		bool add = false;
		const uint32_t dx = plan_gradient(plan, node->input[i], &add);

		if (dx != GRAPH_NO_TENSOR)
			emit_weighted(plan, node, i, output_of(plan, node)->gradient, dx, add);
	}
}

static void sum_reference(const struct op_reference *r)
{
	for (uint64_t e = 0; e < r->rows * r->outputs; e++) {
		r->y[e] = 0;
		for (uint32_t i = 0; i < r->node->inputs; i++) {
			r->y[e] += r->x[i][e] * weight_of(r->node, i);
			if (r->dy && r->dx[i])
				r->dx[i][e] = r->dy[e] * weight_of(r->node, i);
		}
	}
}

static void add_export(struct export *out, const struct node *node)
{
	export_fold(out, node, EXPORT_ADD, "sum", export_output(out, node));
}

static void subtract_export(struct export *out, const struct node *node)
{
	export_fold(out, node, EXPORT_SUBTRACT, "difference", export_output(out, node));
}

static void average_export(struct export *out, const struct node *node)
{
	const struct export_inner_name sum = export_inner(node, "sum"), inputs = export_inner(node, "inputs");

	export_fold(out, node, EXPORT_ADD, "sum", sum.text);
	export_float(out, inputs.text, node->inputs);
	export_binary(out, EXPORT_DIVIDE, sum.text, inputs.text, export_output(out, node));
}

#define SUM_ROW(name_of, ...)                                                                     \
	{                                                                                         \
		.name = #name_of, .inputs = 2, .masking = MASKING_PASSES, .shape = same_shapes,   \
		.backward = sum_backward, .reference = sum_reference, .export = name_of##_export, \
		##__VA_ARGS__                                                                     \
	}
const struct op op_add = SUM_ROW(add, .inputs_max = CONFIG_INPUTS_MAX, .forward = add_forward);
const struct op op_average = SUM_ROW(average, .inputs_max = CONFIG_INPUTS_MAX, .forward = weighted_forward);
const struct op op_subtract = SUM_ROW(subtract, .forward = weighted_forward);

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/op.h"

#include "model/layers/row.h"
#include "model/plan/storage.h"

#include <string.h>

/* ---- The table: rows are in ops/ ---- */

/* One a line: */
/* clang-format off */
#define OPS(row) \
	row(dense) \
	row(relu) \
	row(sigmoid) \
	row(tanh) \
	row(swish) \
	row(silu) \
	row(gelu) \
	row(leaky_relu) \
	row(softmax) \
	row(dropout) \
	row(embedding) \
	row(embedding_bag) \
	row(batch_norm) \
	row(layer_norm) \
	row(normalization) \
	row(flatten) \
	row(reshape) \
	row(add) \
	row(concatenate) \
	row(conv2d) \
	row(depthwise_conv2d) \
	row(max_pooling2d) \
	row(average_pooling2d) \
	row(global_max_pooling2d) \
	row(global_average_pooling2d)
/* clang-format on */

#define DECLARE(name) extern const struct op op_##name;
OPS(DECLARE)

#define ROW(name) &op_##name,
static const struct op *const ops[] = { OPS(ROW) NULL };

const struct op *op_at(uint32_t i)
{
	return ops[i];
}

const struct op *op_find(const char *name)
{
	for (uint32_t i = 0; ops[i]; i++)
		if (!strcmp(ops[i]->name, name))
			return ops[i];
	return NULL;
}

#define NAME(name) ", " #name
const char *op_names(void)
{
	static const char names[] = OPS(NAME);

	return names + strlen(", ");
}

/* ---- What is the same for every row ---- */

int same_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	(void)err;
	output->rank = input->rank;
	memcpy(output->shape, input->shape, sizeof(output->shape));
	return 0;
}

void emit_bias(struct plan *plan, const struct node *node, uint32_t bias)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "bias_add",
				.groups = { per_element(output) },
				.arguments = 4,
				.argument = { INOUT(node->output), IN(bias), ROWS_TIMES(tensor_outer(output)),
					      INT(tensor_last(output)) },
			});
}

void op_emit_forward(struct plan *plan, const struct node *node, bool training)
{
	storage_emit_inputs(plan, node);
	if (node->op->view)
		plan_alias(plan, node->output, node->input[0]);
	else
		node->op->forward(plan, node, training);
}

void op_emit_backward(struct plan *plan, const struct node *node)
{
	if (!node->op->view && output_of(plan, node)->gradient != GRAPH_NO_TENSOR)
		node->op->backward(plan, node);
}

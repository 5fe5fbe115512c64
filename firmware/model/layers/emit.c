/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/emit.h"

#include "model/graph/op.h"
#include "model/plan/plan.h"
#include "model/plan/storage.h"

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
	if (!node->op->view && graph_at(plan->graph, node->output)->gradient != GRAPH_NO_TENSOR)
		node->op->backward(plan, node);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/passes.h"

#include "model/graph/op.h"
#include "model/layers/emit.h"
#include "model/learn/confusion.h"
#include "model/learn/gradients.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/plan/fuse.h"
#include "model/plan/parts.h"
#include "model/plan/storage.h"

static void emit_forward(struct plan *plan, uint32_t nodes, bool training)
{
	for (uint32_t i = 0; i < nodes; i++)
		op_emit_forward(plan, &plan->graph->node[i], training);
}

/* Appends the launch that sums loss and metrics, counts rows, and looks for NaN and wrong labels. `chunks` is
 * the number of chunks of parameters to check for NaN; 0 if the pass changes no parameter. */
static void emit_metrics(struct plan *plan, bool training, uint64_t chunks)
{
	const struct graph *graph = plan->graph;
	const uint64_t limit = loss_label_limit(graph);
	const uint32_t penalty = graph->gradients.penalized ? graph->gradients.penalty : GRAPH_NO_TENSOR;
	const bool is_whole = graph_at(graph, graph->label)->dtype == DTYPE_I64;
	const uint32_t whole = limit && is_whole ? graph->label : GRAPH_NO_TENSOR,
		       real = limit && !is_whole ? graph->label : GRAPH_NO_TENSOR;

	plan_emit(
		plan,
		&(struct launch){
			.kernel = plan->cpu ? "metrics" : "metrics_group",
			ARGUMENTS(IN(graph->row_loss), IN(graph->row_correct), AT(ROWS), AT(VALID_ROWS),
				  INOUT(graph->loss_sum), INOUT(graph->correct_sum),
				  argument_optional(graph->top_sum, ARGUMENT_INOUT), INOUT(graph->rows_sum),
				  argument_optional(whole, ARGUMENT_IN), argument_optional(real, ARGUMENT_IN),
				  INT(graph_at(graph, graph->label)->elements), INT(limit), AT(FIRST_ROW),
				  argument_optional(penalty, ARGUMENT_IN), IN(graph->chunk_fault),
				  INT(chunks), INT(training), AT(STEP), AT(PART), INOUT(graph->fault)),
		});
}

/* Returns the number of nodes whose forward pass is launched: all, or all but the last if the kernel of the
 * loss computes the last layer itself. */
static uint32_t nodes_before_loss(const struct graph *graph)
{
	return graph->nodes - (graph->loss->output_op ? 1 : 0);
}

void pass_emit_predict(struct plan *plan)
{
	emit_forward(plan, plan->graph->nodes, false);
	storage_emit_output(plan);
	plan_fuse(plan);
}

void pass_emit_evaluate(struct plan *plan)
{
	emit_forward(plan, nodes_before_loss(plan->graph), false);
	loss_emit(plan, false);
	gradients_emit_penalty(plan);
	emit_metrics(plan, false, 0);
	confusion_emit(plan);
	plan_fuse(plan);
}

static uint64_t chunks_of(const struct graph *graph)
{
	return graph_at(graph, graph->chunk_fault)->elements;
}

void pass_emit_train(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const uint32_t nodes = nodes_before_loss(graph);

	if (graph->parts > 1)
		parts_emit_begin(plan);
	emit_forward(plan, nodes, true);
	loss_emit(plan, true);
	for (uint32_t i = nodes; i-- > 0;)
		op_emit_backward(plan, &graph->node[i]);
	if (graph->parts > 1) {
		gradients_emit_penalty(plan);
		emit_metrics(plan, true, 0);
	} else {
		optimizer_emit(plan);
		emit_metrics(plan, true, chunks_of(graph));
	}
	plan_fuse(plan);
}

/* Appends what layers do with the sums of all micro-batches. */
static void emit_layers(struct plan *plan)
{
	const struct graph *graph = plan->graph;

	for (uint32_t i = 0; i < graph->nodes; i++)
		if (graph->node[i].op->apply && graph->node[i].trainable)
			graph->node[i].op->apply(plan, &graph->node[i]);
}

void pass_emit_apply(struct plan *plan)
{
	const struct graph *graph = plan->graph;

	parts_emit_weigh(plan, 0, graph_at(graph, graph->gradient_region)->elements / 16);
	emit_layers(plan);
	optimizer_emit(plan);
	emit_metrics(plan, true, chunks_of(graph));
	plan_fuse(plan);
}

void pass_emit_update(struct plan *plan, uint64_t from, uint64_t to)
{
	parts_emit_weigh(plan, from, to);
	optimizer_emit_part(plan, from, to);
	plan_fuse(plan);
}

void pass_emit_settle(struct plan *plan)
{
	emit_layers(plan);
	emit_metrics(plan, true, chunks_of(plan->graph));
	plan_fuse(plan);
}

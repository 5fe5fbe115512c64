/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/confusion.h"

#include "model/learn/losses.h"
#include "model/plan/plan.h"

uint64_t confusion_classes(const struct graph *graph)
{
	const uint64_t outputs = graph_at(graph, graph->output)->elements;
	const struct metrics_shape shape = metrics_shape_of(graph->config, outputs);
	const uint64_t classes = outputs == 1 ? 2 : outputs;

	return shape.kind == METRICS_CLASSES && classes <= METRICS_CONFUSION_MAX ? classes : 0;
}

void confusion_layout(struct graph *graph)
{
	const uint64_t classes = confusion_classes(graph);
	const struct tensor tensor = { .name = "confusion",
				       .dtype = DTYPE_U32,
				       .role = ROLE_WORK,
				       .arena = ARENA_WORK,
				       .rank = 2,
				       .shape = { classes, classes } };
	void *zeros;

	graph->confusion = GRAPH_NO_TENSOR;
	if (!classes)
		return;
	zeros = calloc(classes * classes, sizeof(uint32_t));
	if (!zeros)
		abort(); /* no memory: end the program, like graph_tensor() */
	graph->confusion = graph_tensor(graph, &tensor);
	graph->tensor[graph->confusion]->constant = zeros;
}

void confusion_emit(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const uint32_t z = loss_logits(graph);
	const bool whole = graph_at(graph, graph->label)->dtype == DTYPE_I64;

	if (graph->confusion == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "confusion",
			  .groups = { { .per_row = 1, .tile = ROW_GROUP } },
			  ARGUMENTS(IN(z),
				    argument_optional(whole ? graph->label : GRAPH_NO_TENSOR, ARGUMENT_IN),
				    argument_optional(whole ? GRAPH_NO_TENSOR : graph->label, ARGUMENT_IN),
				    INT(graph->loss->class_label), IN(graph->empty), IN(graph->row_correct),
				    INOUT(graph->confusion), AT(ROWS), INT(graph_at(graph, z)->elements)),
		  });
}

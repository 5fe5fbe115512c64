/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/parts.h"

static uint64_t vectors_of(const struct tensor *region)
{
	return region->elements / 16;
}

static struct extent per_chunk(uint64_t vectors)
{
	return (struct extent){ .fixed = vectors, .tile = PART_CHUNK };
}

void parts_emit_begin(struct plan *plan)
{
	const uint32_t tail = plan->graph->part_tail;
	const uint64_t vectors = vectors_of(graph_at(plan->graph, tail));

	plan_emit(plan, &(struct launch){
				.kernel = "begin_part",
				.groups = { per_chunk(vectors) },
				ARGUMENTS(OUT(tail), UINT((uint32_t)vectors), AT(VALID_ROWS)),
			});
}

void parts_emit_weigh(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct graph *graph = plan->graph;

	plan_emit(plan,
		  &(struct launch){
			  .kernel = "weigh_parts",
			  .groups = { per_chunk(to - from) },
			  ARGUMENTS(INOUT(graph->gradient_region), UINT((uint32_t)from), UINT((uint32_t)to),
				    IN(graph->part_rows), FLOAT(graph->batch_rows * graph->parts)),
		  });
}

void parts_emit_average(struct plan *plan, uint32_t state, double momentum)
{
	const struct graph *graph = plan->graph;
	const struct tensor *tensor = graph_at(graph, state);

	plan_emit(plan, &(struct launch){
				.kernel = "average_parts",
				.groups = { { .fixed = tensor->elements, .tile = ELEMENT_GROUP } },
				ARGUMENTS(INOUT(state), IN(tensor->gradient), IN(graph->part_rows),
					  FLOAT(momentum), FLOAT(1 - momentum), INT(tensor->elements)),
			});
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/storage.h"

#include "model/plan/plan.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum dtype storage;
} policies[] = {
	[PRECISION_FLOAT32] = { "float32", DTYPE_F32 },
	[PRECISION_MIXED_BFLOAT16] = { "mixed_bfloat16", DTYPE_BF16 },
	[PRECISION_MIXED_FLOAT16] = { "mixed_float16", DTYPE_F16 },
};

const char *storage_policy(const struct config *config)
{
	return policies[config->model.precision].name;
}

void storage_layout(struct graph *graph)
{
	graph->storage = graph->training ? policies[graph->config->model.precision].storage : DTYPE_F32;
	for (uint32_t i = 0; i < graph->tensors; i++) {
		struct tensor *tensor = graph->tensor[i];

		if (tensor->role != ROLE_ACTIVATION)
			continue;
		tensor->bytes = tensor->bytes / dtype_bytes(tensor->dtype) * dtype_bytes(graph->storage);
		tensor->dtype = graph->storage;
	}
}

/* How many numbers a work-item of to_stored and from_stored converts. */
#define ITEM 16u

static const char *kernel_of(enum dtype from)
{
	return from == DTYPE_U8 ? "bytes_to_stored" : "to_stored";
}

static uint32_t copy_of(struct plan *plan, const struct node *node, const char *name, uint32_t tensor,
			enum dtype as)
{
	struct tensor shape = { .dtype = as };

	shape.rows = graph_at(plan->graph, tensor)->rows;
	shape.rank = graph_at(plan->graph, tensor)->rank;
	memcpy(shape.shape, graph_at(plan->graph, tensor)->shape, sizeof(shape.shape));
	return plan_work(plan, node, name, &shape);
}

static void emit_conversion(struct plan *plan, const char *kernel, uint32_t from, uint32_t to)
{
	const struct tensor *tensor = graph_at(plan->graph, from);
	const uint64_t elements = tensor->elements;

	plan_emit(plan, &(struct launch){
				.kernel = kernel,
				.groups = { { .fixed = tensor->rows ? 0 : elements,
					      .per_row = tensor->rows ? elements : 0,
					      .tile = ELEMENT_GROUP * ITEM } },
				ARGUMENTS(IN(from), OUT(to),
					  tensor->rows ? (struct argument)AT(ROWS) : (struct argument)INT(1),
					  INT(elements)),
			});
}

uint32_t storage_copied(struct plan *plan, const struct node *node, const char *name, uint32_t tensor)
{
	const enum dtype storage = plan->graph->storage;

	return storage == DTYPE_F32 ? tensor : copy_of(plan, node, name, tensor, storage);
}

uint32_t storage_copy(struct plan *plan, const struct node *node, const char *name, uint32_t tensor)
{
	const uint32_t copy = storage_copied(plan, node, name, tensor);

	if (copy != tensor)
		emit_conversion(plan, "to_stored", tensor, copy);
	return copy;
}

void storage_emit_inputs(struct plan *plan, const struct node *node)
{
	const struct graph *graph = plan->graph;

	for (uint32_t i = 0; i < node->inputs; i++) {
		const uint32_t input = node->input[i];
		const struct tensor *tensor = graph_at(graph, input);
		char name[sizeof("input_") + 10];
		uint32_t copy;

		if (tensor->role != ROLE_INPUT || tensor->dtype == graph->storage ||
		    tensor->dtype == DTYPE_I64 || plan_source(plan, input) != input)
			continue;
		(void)snprintf(name, sizeof(name), "input_%u", i);
		copy = copy_of(plan, node, name, input, graph->storage);
		emit_conversion(plan, kernel_of(tensor->dtype), input, copy);
		plan_alias(plan, input, copy);
	}
}

void storage_emit_output(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const uint32_t output = graph->output;
	uint32_t copy;

	if (graph->storage == DTYPE_F32)
		return;
	copy = copy_of(plan, &graph->node[graph->nodes - 1], "float32", output, DTYPE_F32);
	emit_conversion(plan, "from_stored", output, copy);
	plan_alias(plan, output, copy);
}

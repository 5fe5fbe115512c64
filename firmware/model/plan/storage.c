/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/storage.h"

#include "model/plan/plan.h"
#include "model/plan/round.h"

#include <assert.h>
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

/* How many numbers a work-group of the kernels that convert handles. */
#define CONVERTED (16u * ELEMENT_GROUP)

static uint32_t copy_of(struct plan *plan, const struct node *node, const char *name, uint32_t tensor,
			enum dtype as)
{
	struct tensor shape = { .dtype = as };

	shape.rows = graph_at(plan->graph, tensor)->rows;
	shape.rank = graph_at(plan->graph, tensor)->rank;
	memcpy(shape.shape, graph_at(plan->graph, tensor)->shape, sizeof(shape.shape));
	return plan_work(plan, node, name, &shape);
}

/* ---- Copies of floats: a launch converts several tensors ---- */

#define COPY_KERNEL "to_stored"
#define COPIES_MAX  8u
/* Parameters of the kernel for each tensor; COPY_TO is null where the launch has room for one more. */
enum { COPY_FROM, COPY_TO, COPY_COUNT, COPY_ARGUMENTS };
static_assert(COPIES_MAX * COPY_ARGUMENTS <= PLAN_ARGUMENTS_MAX, "a launch has the arguments of all");

/* Returns the arguments of the tensor that a launch of this pass converts to `copy`, or NULL.
 * GRAPH_NO_TENSOR: returns arguments that are not used yet. Sets *ret_launch to their launch. */
static struct argument *find_copy(struct plan *plan, uint32_t copy, struct launch **ret_launch)
{
	for (uint32_t i = 0; i < plan->launches; i++) {
		struct launch *launch = &plan->launch[i];

		for (uint32_t at = 0; !strcmp(launch->kernel, COPY_KERNEL) && at < launch->arguments;
		     at += COPY_ARGUMENTS) {
			const struct argument *to = &launch->argument[at + COPY_TO];

			*ret_launch = launch;
			if (to->kind == ARGUMENT_NULL ? copy == GRAPH_NO_TENSOR : to->tensor == copy)
				return &launch->argument[at];
		}
	}
	return NULL;
}

static void emit_empty_launch(struct plan *plan)
{
	struct launch launch = { .kernel = COPY_KERNEL,
				 .groups = { { .tile = CONVERTED } },
				 .arguments = COPIES_MAX * COPY_ARGUMENTS };

	for (uint32_t i = 0; i < COPIES_MAX; i++)
		launch.argument[i * COPY_ARGUMENTS + COPY_COUNT] = (struct argument)UINT(0);
	plan_emit(plan, &launch);
}

/* Adds the conversion of a tensor to the first launch that has room. The tensor is a parameter or an input,
 * which no launch before the optimizer changes, so an early copy has the same numbers. */
static void emit_copy(struct plan *plan, uint32_t from, uint32_t to)
{
	const struct tensor *tensor = graph_at(plan->graph, from);
	struct launch *launch;
	struct argument *argument;

	if (!find_copy(plan, GRAPH_NO_TENSOR, &launch))
		emit_empty_launch(plan);
	argument = find_copy(plan, GRAPH_NO_TENSOR, &launch);
	argument[COPY_FROM] = (struct argument)IN(from);
	argument[COPY_TO] = (struct argument)OUT(to);
	if (tensor->rows) {
		argument[COPY_COUNT] = (struct argument)ROWS_TIMES(tensor->elements);
		launch->groups[0].per_row += tensor->elements;
		launch->groups[0].extra++; /* the last group of each tensor may be a part */
	} else {
		assert(tensor->elements <= UINT32_MAX); /* graph_add_node() refuses more */
		argument[COPY_COUNT] = (struct argument)UINT((uint32_t)tensor->elements);
		launch->groups[0].fixed += round_up(tensor->elements, CONVERTED);
	}
}

uint32_t storage_copy(struct plan *plan, const struct node *node, const char *name, uint32_t tensor)
{
	const enum dtype storage = plan->graph->storage;
	struct launch *launch;
	uint32_t copy;

	if (storage == DTYPE_F32)
		return tensor;
	copy = copy_of(plan, node, name, tensor, storage);
	if (!find_copy(plan, copy, &launch))
		emit_copy(plan, tensor, copy);
	return copy;
}

/* ---- Inputs and outputs ---- */

static void emit_conversion(struct plan *plan, const char *kernel, uint32_t from, uint32_t to)
{
	const struct tensor *tensor = graph_at(plan->graph, from);
	const uint64_t elements = tensor->elements;

	plan_emit(plan, &(struct launch){
				.kernel = kernel,
				.groups = { { .fixed = tensor->rows ? 0 : elements,
					      .per_row = tensor->rows ? elements : 0,
					      .tile = CONVERTED } },
				ARGUMENTS(IN(from), OUT(to),
					  tensor->rows ? (struct argument)AT(ROWS) : (struct argument)INT(1),
					  INT(elements)),
			});
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
		if (tensor->dtype == DTYPE_U8)
			emit_conversion(plan, "bytes_to_stored", input, copy);
		else
			emit_copy(plan, input, copy);
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

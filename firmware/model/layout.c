/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layout.h"

#include "core/ring/cursor.h"
#include "model/graph/op.h"
#include "model/learn/confusion.h"
#include "model/learn/gradients.h"
#include "model/learn/loss_scale.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/plan/lifetime.h"
#include "model/plan/storage.h"

static uint32_t add(struct graph *graph, const char *name, enum role role, enum dtype dtype,
		    uint64_t elements)
{
	struct tensor tensor = {
		.dtype = dtype, .role = role, .arena = ARENA_STATE, .rank = 1, .shape = { elements }
	};

	(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
	return graph_tensor(graph, &tensor);
}

/* Returns whether a tensor is a view, that is the bytes of its node's input with another shape. Then both
 * share one gradient. */
static bool is_view(const struct graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (graph->node[i].output == tensor)
			return graph->node[i].op->view;
	return false;
}

static void add_gradients(struct graph *graph)
{
	const uint32_t count = graph->tensors;

	for (uint32_t i = 0; i < count; i++) {
		struct tensor tensor = *graph->tensor[i];
		uint32_t gradient;

		if (!tensor.trainable || is_view(graph, i))
			continue;
		tensor.arena = tensor.role == ROLE_PARAMETER ? ARENA_GRADIENT : ARENA_WORK;
		tensor.role = ROLE_GRADIENT;
		tensor.trainable = false;
		tensor.initializer = NULL;
		gradient = graph_tensor(graph, &tensor);
		graph->tensor[i]->gradient = gradient;
	}
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (graph->node[i].op->view)
			graph->tensor[graph->node[i].output]->gradient =
				graph_at(graph, graph->node[i].input[0])->gradient;
}

/* Gives a slot its initial contents. */
static void fill_slot(struct tensor *tensor, double first)
{
	float *numbers = malloc(tensor->elements * sizeof(*numbers));

	if (!numbers)
		abort(); /* no memory: end the program, like graph_tensor() */
	for (uint64_t i = 0; i < tensor->elements; i++)
		numbers[i] = (float)first;
	tensor->constant = numbers;
}

/* Adds a slot of each trainable parameter, which holds `first` before the first update. */
static void add_slot(struct graph *graph, const char *slot, double first)
{
	const uint32_t count = graph->tensors;

	for (uint32_t i = 0; i < count; i++) {
		struct tensor tensor = *graph->tensor[i];

		if (tensor.role != ROLE_PARAMETER || !tensor.trainable)
			continue;
		tensor.role = ROLE_SLOT;
		tensor.trainable = false;
		tensor.initializer = NULL;
		/* The lengths of layer names are bounded, so the text fits. */
		(void)snprintf(tensor.name, sizeof(tensor.name), "optimizer/%.12s/%.120s", slot,
			       graph->tensor[i]->name);
		const uint32_t added = graph_tensor(graph, &tensor);

		if (first != 0)
			fill_slot(graph->tensor[added], first);
	}
}

static bool accumulates(const struct graph *graph)
{
	return graph->config->optimizer.gradient_accumulation_steps > 1;
}

static bool averages(const struct graph *graph)
{
	return graph->config->optimizer.use_ema;
}

static void add_slots(struct graph *graph)
{
	const struct optimizer *optimizer = graph->optimizer;
	const double first = optimizer->first ? optimizer->first(graph->config) : 0;

	for (uint32_t s = 0; s < optimizer->slots(graph->config); s++)
		add_slot(graph, optimizer->slot[s], first);
	if (accumulates(graph))
		add_slot(graph, "accumulator", 0);
	if (averages(graph))
		add_slot(graph, "average", 0);
}

static void set_some_offsets(struct graph *graph, enum arena arena, enum role role, bool trainable_alone)
{
	uint64_t *used = &graph->arena_bytes[arena];

	for (uint32_t i = 0; i < graph->tensors; i++) {
		struct tensor *tensor = graph->tensor[i];

		if (tensor->arena != arena || tensor->role != role || tensor->offset != UINT64_MAX ||
		    (trainable_alone && !tensor->trainable))
			continue;
		tensor->offset = *used;
		*used = tensor_end(tensor);
	}
}

static void set_offsets(struct graph *graph, enum arena arena, enum role role)
{
	set_some_offsets(graph, arena, role, false);
}

/* Adds what a step sums over its micro-batches beside the gradients: rows, and a statistic for each state of
 * a layer that training changes, which becomes the `gradient` of the state. */
static void add_part_sums(struct graph *graph)
{
	struct tensor rows = { .name = "part/rows",
			       .role = ROLE_GRADIENT,
			       .arena = ARENA_GRADIENT,
			       .rank = 1,
			       .shape = { 16 } };

	graph->part_rows = graph_tensor(graph, &rows);
	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];

		for (uint32_t k = 0; node->op->apply && node->trainable && k < node->op->parameters; k++) {
			struct tensor sum;
			uint32_t index;

			if (!node->op->parameter[k].state)
				continue;
			sum = *graph_at(graph, node->parameter[k]);
			sum.role = ROLE_GRADIENT;
			sum.arena = ARENA_GRADIENT;
			sum.initializer = NULL;
			index = graph_tensor(graph, &sum);
			graph->tensor[node->parameter[k]]->gradient = index;
		}
	}
}

static uint32_t region(struct graph *graph, enum arena arena, uint64_t offset, uint64_t bytes)
{
	uint32_t index = add(graph, "region", ROLE_WORK, DTYPE_F32, bytes / sizeof(float));

	graph->tensor[index]->arena = arena;
	graph->tensor[index]->offset = offset;
	return index;
}

/* Adds the regions, tensors that one launch of the optimizer covers. Trainable parameters come first in the
 * state arena; gradients and slots repeat their layout. */
static void add_regions(struct graph *graph, uint64_t bytes)
{
	const uint32_t slots = graph->optimizer->slots(graph->config);
	uint64_t end = bytes;

	graph->parameter_region = region(graph, ARENA_STATE, 0, bytes);
	graph->gradient_region = region(graph, ARENA_GRADIENT, 0, bytes);
	for (uint32_t s = 0; s < slots; s++, end += bytes)
		graph->slot_region[s] = region(graph, ARENA_STATE, end, bytes);
	if (accumulates(graph)) {
		graph->accumulator_region = region(graph, ARENA_STATE, end, bytes);
		end += bytes;
	}
	if (averages(graph))
		graph->average_region = region(graph, ARENA_STATE, end, bytes);
	if (graph->parts > 1)
		graph->part_tail =
			region(graph, ARENA_GRADIENT, bytes, graph->arena_bytes[ARENA_GRADIENT] - bytes);
}

static void add_sums(struct graph *graph, uint64_t parameter_bytes)
{
	struct tensor row = { .name = "row_loss", .role = ROLE_WORK, .arena = ARENA_WORK, .rows = true };
	const uint64_t chunk_bytes = FAULT_CHUNK * sizeof(float);

	graph->row_loss = graph_tensor(graph, &row);
	row.dtype = DTYPE_U32;
	graph->row_correct = graph_tensor(graph, &row);
	graph->loss_sum = add(graph, "state/loss", ROLE_STAT, DTYPE_F32, 2 * graph->lanes);
	graph->correct_sum = add(graph, "state/correct", ROLE_STAT, DTYPE_I64, graph->lanes);
	graph->top_sum = GRAPH_NO_TENSOR;
	if (graph->config->model.top_k)
		graph->top_sum = add(graph, "state/top_k", ROLE_STAT, DTYPE_I64, graph->lanes);
	graph->rows_sum = add(graph, "state/rows", ROLE_STAT, DTYPE_I64, graph->lanes);
	loss_scale_layout_state(graph);
	graph->step = add(graph, "state/step", ROLE_COUNTER, DTYPE_I64, 1);
	graph->cursor = add(graph, "state/cursor", ROLE_COUNTER, DTYPE_U8, CURSOR_BYTES);
	graph->chunk_fault = add(graph, "chunk_fault", ROLE_WORK, DTYPE_U32,
				 (parameter_bytes + chunk_bytes - 1) / chunk_bytes);
}

void layout_state(struct graph *graph)
{
	static const enum role order[] = { ROLE_SLOT,  ROLE_PARAMETER, ROLE_STATE, ROLE_STAT,
					   ROLE_SCALE, ROLE_COUNTER,   ROLE_WORK };
	uint64_t parameter_bytes;

	graph->accumulator_region = graph->average_region = GRAPH_NO_TENSOR;
	storage_layout(graph);
	set_some_offsets(graph, ARENA_STATE, ROLE_PARAMETER, true);
	graph->fault = add(graph, "fault", ROLE_WORK, DTYPE_U32, FAULT_WORDS);
	if (!graph->training) {
		set_offsets(graph, ARENA_STATE, ROLE_PARAMETER);
		set_offsets(graph, ARENA_STATE, ROLE_STATE);
		set_offsets(graph, ARENA_STATE, ROLE_WORK);
		return;
	}
	parameter_bytes = graph->arena_bytes[ARENA_STATE];
	add_gradients(graph);
	if (graph->parts > 1)
		add_part_sums(graph);
	add_slots(graph);
	add_sums(graph, parameter_bytes);
	set_offsets(graph, ARENA_GRADIENT, ROLE_GRADIENT);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		set_offsets(graph, ARENA_STATE, order[i]);
	add_regions(graph, parameter_bytes);
	gradients_layout(graph);
	loss_scale_layout(graph);
	loss_layout(graph);
	confusion_layout(graph);
}

void layout_work(struct graph *graph, const struct plan *const *plan, uint32_t plans)
{
	static const enum role order[] = { ROLE_ACTIVATION, ROLE_GRADIENT, ROLE_WORK };

	if (plans) {
		lifetime_place(graph, plan, plans);
		return;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		set_offsets(graph, ARENA_WORK, order[i]);
}

uint64_t layout_buffer_bytes(const struct tensor *tensor)
{
	return tensor->bytes +
	       (tensor->role == ROLE_WORK && tensor->arena == ARENA_GRADIENT ? 0 : TENSOR_SLACK);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/plan.h"

#include "model/plan/round.h"

#include <assert.h>
#include <string.h>

void plan_init(struct plan *plan, struct graph *graph, bool cpu)
{
	*plan = (struct plan){ .graph = graph, .cpu = cpu };
}

void plan_done(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->launches; i++) {
		gpu_kernel_free(plan->launch[i].object);
		gpu_buffer_free(plan->launch[i].owned);
	}
	free(plan->launch);
	free(plan->alias);
	free(plan->gradient_written);
	*plan = (struct plan){ 0 };
}

/* Grows the tables that have an entry for each tensor, because layers add scratch tensors while they emit. */
static void grow_tables(struct plan *plan)
{
	const uint32_t wanted = plan->graph->tensors;

	if (plan->tables >= wanted)
		return;
	plan->alias = realloc(plan->alias, wanted * sizeof(*plan->alias));
	plan->gradient_written = realloc(plan->gradient_written, wanted * sizeof(*plan->gradient_written));
	if (!plan->alias || !plan->gradient_written)
		abort();
	for (uint32_t i = plan->tables; i < wanted; i++) {
		plan->alias[i] = i;
		plan->gradient_written[i] = false;
	}
	plan->tables = wanted;
}

void plan_emit(struct plan *plan, const struct launch *launch)
{
	struct launch *added;

	assert(launch->arguments <= PLAN_ARGUMENTS_MAX);
	grow_tables(plan);
	if (plan->launches == plan->capacity) {
		plan->capacity = plan->capacity ? 2 * plan->capacity : 32;
		plan->launch = realloc(plan->launch, plan->capacity * sizeof(*plan->launch));
		if (!plan->launch)
			abort();
	}
	added = &plan->launch[plan->launches++];
	*added = *launch;
	for (uint32_t i = 0; i < added->arguments; i++)
		if (added->argument[i].kind == ARGUMENT_IN)
			added->argument[i].tensor = plan->alias[added->argument[i].tensor];
}

void plan_alias(struct plan *plan, uint32_t tensor, uint32_t source)
{
	grow_tables(plan);
	plan->alias[tensor] = plan->alias[source];
}

uint32_t plan_gradient(struct plan *plan, uint32_t tensor, bool *ret_add)
{
	const uint32_t gradient = graph_at(plan->graph, tensor)->gradient;

	grow_tables(plan);
	if (gradient == GRAPH_NO_TENSOR)
		return gradient;
	*ret_add = plan->gradient_written[gradient];
	plan->gradient_written[gradient] = true;
	return gradient;
}

uint32_t plan_work(struct plan *plan, const struct node *node, const char *name, const struct tensor *shape)
{
	struct tensor tensor = *shape;

	tensor.role = ROLE_WORK;
	tensor.arena = ARENA_WORK;
	(void)snprintf(tensor.name, sizeof(tensor.name), "%s/%s", node->name, name);
	for (uint32_t i = 0; i < plan->graph->tensors; i++)
		if (graph_at(plan->graph, i)->role == ROLE_WORK &&
		    !strcmp(graph_at(plan->graph, i)->name, tensor.name)) {
			graph_enlarge(plan->graph, i, &tensor);
			return i;
		}
	return graph_tensor(plan->graph, &tensor);
}

uint32_t plan_source(const struct plan *plan, uint32_t tensor)
{
	return tensor < plan->tables ? plan->alias[tensor] : tensor;
}

/* ---- Binding and running ---- */

/* Returns the index of the next launch to enqueue after `at`, which is not a phase of a chain. */
static uint32_t next(const struct plan *plan, uint32_t at)
{
	return at + 1 + plan->launch[at].phases;
}

uint32_t plan_enqueued(const struct plan *plan)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->launches; i = next(plan, i))
		count++;
	return count;
}

static int bind_launch(struct launch *launch, struct gpu_program *program, struct gpu_buffer *const *buffer,
		       struct error *err)
{
	int r = gpu_kernel_create(program, launch->kernel, &launch->object, err);

	for (uint32_t i = 0; r == 0 && i < launch->arguments; i++) {
		const struct argument *argument = &launch->argument[i];

		if (argument_is_tensor(argument))
			r = gpu_kernel_set_buffer(launch->object, i, buffer[argument->tensor], err);
		else if (argument->kind == ARGUMENT_BUFFER || argument->kind == ARGUMENT_NULL)
			r = gpu_kernel_set_buffer(launch->object, i, argument->buffer, err);
		else if (argument->kind <= ARGUMENT_FLOAT)
			r = gpu_kernel_set(launch->object, i, &argument->i, sizeof(argument->i), err);
	}
	return r;
}

int plan_bind(struct plan *plan, struct gpu_program *program, struct gpu_buffer *const *buffer,
	      struct error *err)
{
	for (uint32_t i = 0; i < plan->launches; i = next(plan, i)) {
		int r = bind_launch(&plan->launch[i], program, buffer, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static struct gpu_buffer *batch_buffer(const struct graph *graph, const struct plan_values *values,
				       uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->inputs; i++)
		if (tensor == graph->input[i])
			return values->input[i];
	if (tensor == graph->weight)
		return values->weight;
	return tensor == graph->label ? values->label : values->empty;
}

/* Returns a pointer to the value in `values` for an argument of this kind; NULL: arguments of this kind do
 * not change from step to step. Every value has 4 bytes, as in the kernels. */
static const void *step_value(const struct plan_values *values, enum argument_kind kind)
{
	switch (kind) {
	case ARGUMENT_ROWS:
		return &values->rows;
	case ARGUMENT_VALID_ROWS:
		return &values->valid_rows;
	case ARGUMENT_ROW_WEIGHT:
		return &values->row_weight;
	case ARGUMENT_FIRST_ROW:
		return &values->first_row;
	case ARGUMENT_STEP:
		return &values->step;
	case ARGUMENT_RATE:
		return &values->rate;
	case ARGUMENT_DECAY:
		return &values->decay;
	case ARGUMENT_UPDATE:
		return &values->update;
	case ARGUMENT_AVERAGE_MOMENTUM:
		return &values->average_momentum;
	case ARGUMENT_AVERAGE_REPLACES:
		return &values->average_replaces;
	case ARGUMENT_PART:
		return &values->part;
	default:
		return NULL;
	}
}

/* Sets the arguments whose values have changed since the last run, and the buffers of the batch. */
static int set_arguments(const struct plan *plan, struct launch *launch, const struct plan_values *values,
			 struct error *err)
{
	const struct graph *graph = plan->graph;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < launch->arguments; i++) {
		const struct argument *argument = &launch->argument[i];
		const void *value = step_value(values, argument->kind);

		if (value) {
			const void *last = step_value(&plan->last, argument->kind);
			int32_t rows = values->rows;

			if (plan->bound && memcmp(value, last, sizeof(uint32_t)) == 0)
				continue;
			if (argument->kind == ARGUMENT_ROWS && argument->u > 1) {
				rows *= (int32_t)argument->u; /* fits: graph_build() refuses products of 2^31
								 and more */
				value = &rows;
			}
			r = gpu_kernel_set(launch->object, i, value, sizeof(uint32_t), err);
		} else if (argument_is_tensor(argument) &&
			   graph_at(graph, argument->tensor)->arena == ARENA_BATCH) {
			r = gpu_kernel_set_buffer(launch->object, i,
						  batch_buffer(graph, values, argument->tensor), err);
		}
	}
	return r;
}

static uint64_t groups_of(const struct extent *extent, uint64_t rows)
{
	const uint64_t tile = extent->tile ? extent->tile : 1;
	const uint64_t size = extent->fixed + rows * extent->per_row;

	return size ? divide_up(size, tile) + extent->extra : 1;
}

int plan_run_to(struct plan *plan, struct gpu *gpu, const struct plan_values *values, uint32_t end,
		uint32_t *at, struct error *err)
{
	for (; *at < end; *at = next(plan, *at)) {
		struct launch *launch = &plan->launch[*at];
		const uint64_t groups[2] = { groups_of(&launch->groups[0], (uint64_t)values->rows),
					     groups_of(&launch->groups[1], (uint64_t)values->rows) };
		int r = set_arguments(plan, launch, values, err);

		/* The arguments are set even if the launch is left out in this step, because plan->last says
		 * what all arguments hold. */
		if (r == 0 && (values->update || !launch->on_update))
			r = gpu_launch(gpu, launch->object, groups, err);
		if (r < 0)
			return r;
	}
	if (*at >= plan->launches) {
		plan->last = *values;
		plan->bound = true;
	}
	return 0;
}

int plan_run(struct plan *plan, struct gpu *gpu, const struct plan_values *values, struct error *err)
{
	uint32_t at = 0;

	return plan_run_to(plan, gpu, values, plan->launches, &at, err);
}

static bool uses(const struct plan *plan, const struct launch *launch, enum arena arena, uint64_t from,
		 uint64_t to)
{
	for (uint32_t i = 0; i < launch->arguments; i++) {
		const struct tensor *tensor;

		if (!argument_is_tensor(&launch->argument[i]))
			continue;
		tensor = graph_at(plan->graph, launch->argument[i].tensor);
		if (tensor->arena == arena && tensor->offset < to && tensor_end(tensor) > from)
			return true;
	}
	return false;
}

uint32_t plan_uses_end(const struct plan *plan, enum arena arena, uint64_t from, uint64_t to)
{
	uint32_t end = plan->launches;

	while (end > 0 && !uses(plan, &plan->launch[end - 1], arena, from, to))
		end--;
	return end;
}

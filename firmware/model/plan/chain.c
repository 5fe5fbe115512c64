/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/chain.h"

#include "model/kernels/chain_phases.h"
#include "model/plan/kernel_table.h"

#include <assert.h>
#include <string.h>

#define VALUE_FIRST ARGUMENT_ROWS
#define VALUES      (ARGUMENT_PART - ARGUMENT_ROWS + 1u)
#define BASE_BATCH  ((uint32_t)ARENA_MAX)

/* A launch on more numbers than this is a chain by itself: it takes far longer than a wake-up, and one of its
 * groups may take longer than the other threads wait (CHAIN_POLLS). */
#define LARGE_NUMBERS (UINT64_C(1) << 20)

static_assert(CHAIN_ARGUMENTS == PLAN_ARGUMENTS_MAX && CHAIN_ALIGN == TENSOR_ALIGN && VALUES == 11,
	      "kernels/chain.cl has these numbers");
static_assert(sizeof(struct chain_phase) == 8 + 64 + 192 && sizeof(struct chain) == 256, "no padding");

/* Returns the number of a kernel: the FNV-1a hash of its name. If two kernels had the same number, chain.cl
 * would not compile, because its switch would have two equal cases. */
static uint32_t number_of(const char *kernel)
{
	uint32_t hash = 2166136261u;

	while (*kernel)
		hash = (hash ^ (uint8_t)*kernel++) * 16777619u;
	return hash;
}

/* ---- The description of the phases ---- */

/* The tensors of the batch that phases read. Their buffers change from batch to batch, so each is an argument
 * of the kernel `chain`. */
struct batch {
	uint32_t tensors, tensor[CHAIN_BATCH];
};

static bool is_of_batch(const struct graph *graph, const struct argument *argument)
{
	return argument_is_tensor(argument) && graph_at(graph, argument->tensor)->arena == ARENA_BATCH;
}

/* Returns the index of a tensor in the list, and adds it if it is new; CHAIN_BATCH: the list is full. */
static uint32_t index_of(struct batch *batch, uint32_t tensor)
{
	for (uint32_t i = 0; i < batch->tensors; i++)
		if (batch->tensor[i] == tensor)
			return i;
	if (batch->tensors < CHAIN_BATCH)
		batch->tensor[batch->tensors] = tensor;
	return batch->tensors < CHAIN_BATCH ? batch->tensors++ : CHAIN_BATCH;
}

static bool fits(const struct graph *graph, const struct launch *launch, struct batch *batch)
{
	for (uint32_t i = 0; i < launch->arguments; i++)
		if (is_of_batch(graph, &launch->argument[i]) &&
		    index_of(batch, launch->argument[i].tensor) == CHAIN_BATCH)
			return false;
	return true;
}

/* Describes an argument of a phase as two numbers: base and offset of a tensor, or index and factor of a
 * value. Value 0 is 1, so that the factor can be a constant. */
static chain_argument told(const struct graph *graph, const struct argument *argument, struct batch *batch)
{
	if (is_of_batch(graph, argument))
		return (chain_argument){ BASE_BATCH + index_of(batch, argument->tensor), 0 };
	if (argument_is_tensor(argument)) {
		const struct tensor *tensor = graph_at(graph, argument->tensor);

		return (chain_argument){ (uint32_t)tensor->arena, (uint32_t)(tensor->offset / CHAIN_ALIGN) };
	}
	if (argument->kind >= VALUE_FIRST)
		return (chain_argument){ 1 + argument->kind - VALUE_FIRST,
					 argument->kind == ARGUMENT_ROWS && argument->u ? argument->u : 1 };
	/* A constant: an integer, or the bits of a float. */
	return (chain_argument){ 0, argument->kind == ARGUMENT_NULL ? 0 : argument->u };
}

static void tell_phase(const struct graph *graph, const struct launch *launch, struct batch *batch,
		       struct chain_phase *phase)
{
	phase->number = number_of(launch->kernel);
	phase->on_update = launch->on_update;
	for (uint32_t i = 0; i < 2; i++) {
		const struct extent *groups = &launch->groups[i];

		phase->groups[i] = (struct chain_extent){ .fixed = groups->fixed,
							  .per_row = groups->per_row,
							  .tile = groups->tile ? groups->tile : 1,
							  .extra = groups->extra };
	}
	for (uint32_t i = 0; i < launch->arguments; i++)
		phase->argument[i] = told(graph, &launch->argument[i], batch);
}

/* ---- Making chains ---- */

static int tell(const struct graph *graph, struct gpu *gpu, const struct launch *phase, uint32_t phases,
		struct batch *batch, struct gpu_buffer **ret_buffer, struct error *err)
{
	const size_t bytes = sizeof(struct chain) + phases * sizeof(struct chain_phase);
	CLEANUP(free_ptr) struct chain *chain = calloc(1, bytes);
	int r;

	if (!chain)
		return error_set(err, -ENOMEM, "chain: out of memory");
	chain->phases = phases;
	for (uint32_t i = 0; i < phases; i++)
		tell_phase(graph, &phase[i], batch, &chain->phase[i]);
	r = gpu_buffer_create(gpu, bytes, ret_buffer, err);
	return r < 0 ? r : gpu_write(gpu, *ret_buffer, 0, chain, bytes, true, err);
}

static struct argument buffer_argument(struct gpu_buffer *buffer)
{
	return (struct argument){ .kind = buffer ? ARGUMENT_BUFFER : ARGUMENT_NULL, .buffer = buffer };
}

static struct launch chain_launch(struct gpu *gpu, struct gpu_buffer *told, struct gpu_buffer *const *arena,
				  const struct batch *batch, uint32_t phases)
{
	struct launch launch = {
		.kernel = "chain", .phases = phases, .owned = told, .groups = { { .fixed = gpu_units(gpu) } }
	};

	launch.argument[launch.arguments++] = buffer_argument(told);
	for (enum arena i = ARENA_STATE; i < ARENA_MAX; i++)
		launch.argument[launch.arguments++] = buffer_argument(arena[i]);
	for (uint32_t i = 0; i < CHAIN_BATCH; i++)
		launch.argument[launch.arguments++] = i < batch->tensors
							      ? (struct argument)IN(batch->tensor[i])
							      : (struct argument)AT(NULL);
	for (uint32_t i = 0; i < VALUES; i++)
		launch.argument[launch.arguments++] = (struct argument){ .kind = VALUE_FIRST + i };
	return launch;
}

static bool is_large(const struct graph *graph, const struct launch *launch)
{
	uint64_t numbers = 0;

	for (uint32_t i = 0; i < launch->arguments; i++)
		if (argument_is_tensor(&launch->argument[i])) {
			const struct tensor *tensor = graph_at(graph, launch->argument[i].tensor);

			numbers += tensor->elements * (tensor->rows ? graph->batch_rows : 1);
		}
	return numbers > LARGE_NUMBERS;
}

/* Returns how many launches, beginning with `first`, become phases of one chain. */
static uint32_t length(const struct graph *graph, const struct launch *first, uint32_t launches,
		       struct batch *batch)
{
	uint32_t count = 0;

	while (count < launches && kernel_is_single(first[count].kernel) && fits(graph, &first[count], batch))
		if (is_large(graph, &first[count++]) || (count < launches && is_large(graph, &first[count])))
			break;
	return count;
}

int chain_plan(struct plan *plan, struct gpu *gpu, struct gpu_buffer *const arena[ARENA_MAX],
	       struct error *err)
{
	struct launch *made = calloc(2 * (size_t)plan->launches + 1, sizeof(*made)), *from = plan->launch;
	uint32_t written = 0, left = plan->launches;
	int r = made ? 0 : error_set(err, -ENOMEM, "chain: out of memory");

	while (r == 0 && left > 0) {
		struct batch batch = { 0 };
		const uint32_t phases = plan->cpu ? length(plan->graph, from, left, &batch) : 0;
		const uint32_t count = phases ? phases : 1;
		struct gpu_buffer *told = NULL;

		if (phases)
			r = tell(plan->graph, gpu, from, phases, &batch, &told, err);
		if (phases)
			made[written++] = chain_launch(gpu, told, arena, &batch, phases);
		memcpy(made + written, from, count * sizeof(*made));
		written += count;
		from += count;
		left -= count;
	}
	if (!made)
		return r;
	free(plan->launch);
	plan->launch = made;
	plan->launches = plan->capacity = written;
	return r;
}

/* ---- The cases of the program ---- */

static bool is_float(enum argument_kind kind)
{
	return kind == ARGUMENT_FLOAT || kind == ARGUMENT_ROW_WEIGHT || kind == ARGUMENT_RATE ||
	       kind == ARGUMENT_DECAY || kind == ARGUMENT_AVERAGE_MOMENTUM;
}

static const char *form_of(const struct argument *argument)
{
	if (argument->kind == ARGUMENT_NULL || argument_is_tensor(argument))
		return "TENSOR";
	return is_float(argument->kind) ? "REAL" : "WHOLE";
}

static void put_case(FILE *text, const struct launch *launch)
{
	(void)fprintf(text, " case %uu: %s(x, y", number_of(launch->kernel), launch->kernel);
	for (uint32_t i = 0; i < launch->arguments; i++)
		(void)fprintf(text, ", %s(%u)", form_of(&launch->argument[i]), i);
	(void)fprintf(text, "); break;");
}

/* Returns whether a launch before this one, in this or an earlier plan, has the same kernel. */
static bool is_known(const struct plan *const *plan, const struct launch *launch)
{
	for (;; plan++)
		for (uint32_t i = 0; i < (*plan)->launches; i++) {
			const struct launch *other = &(*plan)->launch[i];

			if (other == launch)
				return false;
			if (!strcmp(other->kernel, launch->kernel))
				return true;
		}
}

/* Writes a case for each kernel of a plan that does not have a case yet. Returns whether the plan has a
 * chain. */
static bool put_cases(FILE *text, const struct plan *const *all, const struct plan *plan)
{
	bool chained = false;

	for (uint32_t i = 0; i < plan->launches; i++) {
		const struct launch *launch = &plan->launch[i];

		chained |= launch->phases > 0;
		if (!is_known(all, launch) && kernel_is_single(launch->kernel))
			put_case(text, launch);
	}
	return chained;
}

int chain_cases(const struct plan *const *plan, uint32_t plans, char **ret_text, struct error *err)
{
	CLEANUP(free_ptr) char *said = NULL;
	size_t bytes = 0;
	FILE *text = open_memstream(&said, &bytes);
	bool chained = false;

	if (!text)
		return error_set(err, -ENOMEM, "chain: out of memory");
	(void)fprintf(text, "#define CHAIN_CASES");
	for (uint32_t p = 0; p < plans; p++)
		chained |= put_cases(text, plan, plan[p]);
	(void)fprintf(text, "\n");
	if (fclose(text) != 0)
		return error_set(err, -ENOMEM, "chain: out of memory");
	*ret_text = chained ? TAKE(said) : NULL;
	return 0;
}

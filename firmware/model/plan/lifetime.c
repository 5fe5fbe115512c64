/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/lifetime.h"

#include <string.h>

static void *must_allocate(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		abort(); /* no memory: end the program, like graph_tensor() */
	return memory;
}

/* ---- Lifetimes ---- */

static void use(struct lifetime *life, const struct launch *launch, uint32_t at, enum argument_kind kind,
		bool *on_update)
{
	if (!life->used) {
		*life = (struct lifetime){ .used = true, .kept = kind != ARGUMENT_OUT, .first = at };
		*on_update = launch->on_update;
	}
	if (life->first == at && kind != ARGUMENT_OUT)
		life->kept = true; /* the launch that writes it first reads it, too */
	if (*on_update && !launch->on_update)
		life->kept = true;
	life->last = at;
}

struct lifetime *lifetimes_of(const struct plan *plan)
{
	const struct graph *graph = plan->graph;
	struct lifetime *life = must_allocate(graph->tensors, sizeof(*life));
	bool *on_update = must_allocate(graph->tensors, sizeof(*on_update));
	const uint32_t output = plan_source(plan, graph->output);

	for (uint32_t i = 0; i < plan->launches; i++)
		for (uint32_t j = 0; j < plan->launch[i].arguments; j++) {
			const struct argument *argument = &plan->launch[i].argument[j];

			if (argument_is_tensor(argument))
				use(&life[argument->tensor], &plan->launch[i], i, argument->kind,
				    &on_update[argument->tensor]);
		}
	for (uint32_t i = 0; i < graph->tensors; i++)
		life[i].kept |= graph_at(graph, i)->constant != NULL;
	if (output < graph->tensors && life[output].used)
		life[output].last = plan->launches - 1;
	free(on_update);
	return life;
}

/* ---- Places ---- */

struct places {
	struct graph *graph;
	struct lifetime **life; /* one array for each plan */
	uint32_t plans;
	uint32_t *placed, count; /* tensors that have a place, in the order of their offsets */
};

/* Returns whether two tensors may not share a byte. */
static bool conflict(const struct places *places, uint32_t a, uint32_t b)
{
	for (uint32_t p = 0; p < places->plans; p++) {
		const struct lifetime *x = &places->life[p][a], *y = &places->life[p][b];

		if (x->kept || y->kept || (x->used && y->used && x->first <= y->last && y->first <= x->last))
			return true;
	}
	return false;
}

static uint64_t size_of(const struct tensor *tensor)
{
	struct tensor at_zero = *tensor;

	at_zero.offset = 0;
	return tensor_end(&at_zero);
}

/* Returns the offset of the smallest gap that fits between the tensors that conflict with this one, or the
 * end of the last of them. */
static uint64_t best_offset(const struct places *places, uint32_t tensor)
{
	const uint64_t size = size_of(graph_at(places->graph, tensor));
	uint64_t end = 0, best = LIFETIME_NO_PLACE, best_gap = UINT64_MAX;

	for (uint32_t i = 0; i < places->count; i++) {
		const struct tensor *other = graph_at(places->graph, places->placed[i]);

		if (!conflict(places, tensor, places->placed[i]))
			continue;
		if (other->offset >= end + size && other->offset - end < best_gap) {
			best = end;
			best_gap = other->offset - end;
		}
		if (tensor_end(other) > end)
			end = tensor_end(other);
	}
	return best == LIFETIME_NO_PLACE ? end : best;
}

static void put(struct places *places, uint32_t index)
{
	struct graph *graph = places->graph;
	struct tensor *tensor = graph->tensor[index];
	uint32_t at = 0;

	tensor->offset = best_offset(places, index);
	if (tensor_end(tensor) > graph->arena_bytes[ARENA_WORK])
		graph->arena_bytes[ARENA_WORK] = tensor_end(tensor);
	while (at < places->count && graph_at(graph, places->placed[at])->offset <= tensor->offset)
		at++;
	memmove(places->placed + at + 1, places->placed + at, (places->count - at) * sizeof(uint32_t));
	places->placed[at] = index;
	places->count++;
}

static bool is_used(const struct places *places, uint32_t tensor)
{
	for (uint32_t p = 0; p < places->plans; p++)
		if (places->life[p][tensor].used || places->life[p][tensor].kept)
			return true;
	return false;
}

/* Returns the largest tensor that still needs a place, the first of equals; GRAPH_NO_TENSOR: none. */
static uint32_t next_largest(const struct places *places)
{
	uint32_t largest = GRAPH_NO_TENSOR;

	for (uint32_t i = 0; i < places->graph->tensors; i++) {
		const struct tensor *tensor = graph_at(places->graph, i);

		if (tensor->arena == ARENA_WORK && tensor->offset == LIFETIME_NO_PLACE &&
		    is_used(places, i) &&
		    (largest == GRAPH_NO_TENSOR || tensor->bytes > graph_at(places->graph, largest)->bytes))
			largest = i;
	}
	return largest;
}

void lifetime_place(struct graph *graph, const struct plan *const *plan, uint32_t plans)
{
	struct places places = { .graph = graph, .plans = plans };
	uint32_t next;

	places.life = must_allocate(plans, sizeof(void *));
	places.placed = must_allocate(graph->tensors, sizeof(*places.placed));
	for (uint32_t p = 0; p < plans; p++)
		places.life[p] = lifetimes_of(plan[p]);
	/* Large tensors first: they leave few gaps, and the small ones fit into these. */
	while ((next = next_largest(&places)) != GRAPH_NO_TENSOR)
		put(&places, next);
	for (uint32_t p = 0; p < plans; p++)
		free(places.life[p]);
	free(places.life);
	free(places.placed);
}

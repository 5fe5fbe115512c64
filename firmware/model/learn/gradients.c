/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/gradients.h"

#include "model/learn/update.h"
#include "model/plan/plan.h"

#include <string.h>

/* Has to equal the number in kernels/gradients.cl. */
#define CHUNK_VECTORS 256u

/* struct chunk is a part of one tensor; kernels read it as uint4. struct span is the list of chunks of one
 * tensor; kernels read it as uint2. */
struct chunk {
	uint32_t first_vector, vectors, tensor, unused;
};
struct span {
	uint32_t first_chunk, chunks;
};
struct penalty {
	float l1, l2;
};

static uint64_t vectors_of(const struct tensor *tensor)
{
	return (tensor->elements + 15) / 16;
}

static uint64_t chunks_of(const struct tensor *tensor)
{
	return (vectors_of(tensor) + CHUNK_VECTORS - 1) / CHUNK_VECTORS;
}

static bool is_updated(const struct tensor *tensor)
{
	return tensor->role == ROLE_PARAMETER && tensor->trainable;
}

static bool clips_norm(const struct config *config)
{
	return config->optimizer.clipnorm > 0 || config->optimizer.global_clipnorm > 0;
}

static bool accumulates(const struct config *config)
{
	return config->optimizer.gradient_accumulation_steps > 1;
}

static uint32_t work(struct graph *graph, const char *name, enum dtype dtype, uint64_t elements,
		     void *constant)
{
	struct tensor tensor = {
		.dtype = dtype, .role = ROLE_WORK, .arena = ARENA_WORK, .rank = 1, .shape = { elements }
	};
	uint32_t index;

	(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
	index = graph_tensor(graph, &tensor);
	graph->tensor[index]->constant = constant;
	return index;
}

static void *table(uint64_t count, size_t bytes)
{
	void *rows = calloc(count + 1, bytes);

	if (!rows)
		abort(); /* no memory: end the program, like graph_tensor() */
	return rows;
}

static void fill(const struct graph *graph, struct chunk *chunk, struct span *span, struct penalty *penalty,
		 float *decays)
{
	uint32_t chunks = 0, tensors = 0;

	for (uint32_t i = 0; i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);
		const uint32_t first = (uint32_t)(tensor->offset / (16 * sizeof(float)));

		if (!is_updated(tensor))
			continue;
		span[tensors] = (struct span){ chunks, (uint32_t)chunks_of(tensor) };
		/* The update of a lazy parameter applies its decay itself, only to the rows whose ids are in
		 * the batch. */
		decays[tensors] = tensor->lazy || optimizer_excluded(graph->config, tensor->name) ? 0 : 1;
		penalty[tensors] = (struct penalty){ (float)tensor->l1, (float)tensor->l2 };
		for (uint64_t v = 0; v < vectors_of(tensor); v += CHUNK_VECTORS) {
			const uint64_t left = vectors_of(tensor) - v;

			chunk[chunks++] = (struct chunk){
				.first_vector = first + (uint32_t)v,
				.vectors = left < CHUNK_VECTORS ? (uint32_t)left : CHUNK_VECTORS,
				.tensor = tensors,
			};
		}
		tensors++;
	}
}

void gradients_layout(struct graph *graph)
{
	struct gradients *gradients = &graph->gradients;
	const struct config *config = graph->config;
	uint64_t chunks = 0, tensors = 0;
	bool penalized = false;

	for (uint32_t i = 0; i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);

		if (!is_updated(tensor))
			continue;
		tensors++;
		chunks += chunks_of(tensor);
		penalized |= tensor->l1 > 0 || tensor->l2 > 0;
	}
	*gradients = (struct gradients){
		.prepared = penalized || accumulates(config) || clips_norm(config) ||
			    config->optimizer.clipvalue > 0,
		.penalized = penalized,
		.chunks = chunks,
		.tensors = tensors,
	};
	if (!gradients->prepared && !optimizer_excludes(graph))
		return;

	struct chunk *chunk = table(chunks, sizeof(*chunk));
	struct span *span = table(tensors, sizeof(*span));
	struct penalty *penalty = table(tensors, sizeof(*penalty));
	float *decays = table(tensors, sizeof(*decays));

	fill(graph, chunk, span, penalty, decays);
	gradients->chunk = work(graph, "gradient_chunks", DTYPE_U32, 4 * chunks, chunk);
	gradients->span = work(graph, "gradient_spans", DTYPE_U32, 2 * tensors, span);
	gradients->penalty_of = work(graph, "penalties", DTYPE_F32, 2 * tensors, penalty);
	gradients->decays = work(graph, "weight_decays", DTYPE_F32, tensors, decays);
	gradients->chunk_penalty = work(graph, "chunk_penalty", DTYPE_F32, chunks, NULL);
	gradients->chunk_square = work(graph, "chunk_square", DTYPE_F32, chunks, NULL);
	gradients->scale = work(graph, "gradient_scale", DTYPE_F32, tensors, NULL);
	gradients->penalty = work(graph, "penalty", DTYPE_F32, 1, NULL);
}

/* ---- Launches ---- */

static struct argument in_if(bool is, uint32_t tensor)
{
	return is ? (struct argument)IN(tensor) : (struct argument)AT(NULL);
}

static struct argument inout_if(bool is, uint32_t tensor)
{
	return is ? (struct argument)INOUT(tensor) : (struct argument)AT(NULL);
}

static struct extent per_chunk(const struct gradients *gradients)
{
	return (struct extent){ .fixed = gradients->chunks };
}

/* Appends the first pass over the chunks; without `backward` it only sums the penalties. */
static void emit_prepare(struct plan *plan, bool backward)
{
	const struct graph *graph = plan->graph;
	const struct gradients *gradients = &graph->gradients;
	const struct config *config = graph->config;
	const bool accumulated = backward && accumulates(config);
	const double share = 1 / (double)config->optimizer.gradient_accumulation_steps;

	plan_emit(plan,
		  &(struct launch){
			  .kernel = "prepare_gradients",
			  .groups = { per_chunk(gradients) },
			  ARGUMENTS(IN(graph->parameter_region), inout_if(backward, graph->gradient_region),
				    inout_if(accumulated, graph->accumulator_region), IN(gradients->chunk),
				    in_if(gradients->penalized, gradients->penalty_of),
				    OUT(gradients->chunk_penalty), OUT(gradients->chunk_square), AT(UPDATE),
				    FLOAT(share), FLOAT(config->optimizer.clipvalue)),
		  });
}

static void emit_sums(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct gradients *gradients = &graph->gradients;
	const struct config *config = graph->config;

	plan_emit(plan, &(struct launch){
				.kernel = "gradient_sums",
				ARGUMENTS(IN(gradients->chunk_penalty), IN(gradients->chunk_square),
					  IN(gradients->span), INT(gradients->tensors),
					  FLOAT(config->optimizer.clipnorm),
					  FLOAT(config->optimizer.global_clipnorm), OUT(gradients->scale),
					  OUT(gradients->penalty)),
			});
}

void gradients_emit(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct gradients *gradients = &graph->gradients;

	if (!gradients->prepared)
		return;
	emit_prepare(plan, true);
	if (gradients->penalized || clips_norm(graph->config))
		emit_sums(plan);
	if (clips_norm(graph->config))
		plan_emit(plan, &(struct launch){
					.kernel = "scale_gradients",
					.on_update = true,
					.groups = { per_chunk(gradients) },
					ARGUMENTS(INOUT(graph->gradient_region), IN(gradients->chunk),
						  IN(gradients->scale)),
				});
}

void gradients_emit_penalty(struct plan *plan)
{
	if (!plan->graph->gradients.penalized)
		return;
	emit_prepare(plan, false);
	emit_sums(plan);
}

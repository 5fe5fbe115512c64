/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/loss_scale.h"

#include "model/learn/optimizers.h"
#include "model/learn/update.h"

#include <stdlib.h>

/* Have to equal the numbers in kernels/loss_scale.cl. */
#define SCALE_CHUNK 256u
#define VERDICTS    4u

#define SCALE_NAME "state/loss_scale"

static uint32_t add(struct graph *graph, const char *name, enum role role, enum dtype dtype,
		    uint64_t elements)
{
	struct tensor tensor = { .dtype = dtype,
				 .role = role,
				 .arena = role == ROLE_SCALE ? ARENA_STATE : ARENA_WORK,
				 .rank = 1,
				 .shape = { elements } };

	(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
	return graph_tensor(graph, &tensor);
}

void loss_scale_layout_state(struct graph *graph)
{
	struct loss_scale *scale = &graph->loss_scale;
	float *initial;

	*scale = (struct loss_scale){ GRAPH_NO_TENSOR, GRAPH_NO_TENSOR, GRAPH_NO_TENSOR, GRAPH_NO_TENSOR };
	if (graph->storage != DTYPE_F16)
		return;
	scale->scale = add(graph, SCALE_NAME, ROLE_SCALE, DTYPE_F32, 1);
	scale->steps = add(graph, SCALE_NAME "_steps", ROLE_SCALE, DTYPE_I64, 2);
	initial = malloc(sizeof(*initial));
	if (!initial)
		abort(); /* no memory: end the program, like graph_tensor() */
	*initial = LOSS_SCALE_INITIAL;
	graph->tensor[scale->scale]->constant = initial;
}

static uint64_t vectors_of(const struct graph *graph)
{
	return graph_at(graph, graph->gradient_region)->elements / 16;
}

static uint64_t chunks_of(const struct graph *graph)
{
	return (vectors_of(graph) + SCALE_CHUNK - 1) / SCALE_CHUNK;
}

void loss_scale_layout(struct graph *graph)
{
	if (graph->storage != DTYPE_F16)
		return;
	graph->loss_scale.bad = add(graph, "scale_bad", ROLE_WORK, DTYPE_U32, chunks_of(graph));
	graph->loss_scale.verdict = add(graph, "scale_verdict", ROLE_WORK, DTYPE_F32, VERDICTS);
}

struct argument loss_scale_verdict(const struct graph *graph)
{
	return argument_optional(graph->loss_scale.verdict, ARGUMENT_IN);
}

struct argument loss_scale_factor(const struct graph *graph)
{
	return argument_optional(graph->loss_scale.scale, ARGUMENT_IN);
}

static void emit_verdict(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct loss_scale *scale = &graph->loss_scale;
	const struct config *config = graph->config;
	const struct optimizer *optimizer = graph->optimizer;
	const bool counts = optimizer->correction != NULL;

	plan_emit(plan,
		  &(struct launch){
			  .kernel = "adapt_scale",
			  ARGUMENTS(IN(scale->bad), INT(chunks_of(graph)), INOUT(scale->scale),
				    INOUT(scale->steps), OUT(scale->verdict),
				    INT(config->optimizer.gradient_accumulation_steps == 1),
				    FLOAT(counts ? 1 - config->optimizer.beta_1 : 0),
				    FLOAT(optimizer->corrects_root ? 1 - optimizer_beta_2(config, optimizer)
								   : 0),
				    AT(STEP), INOUT(graph->fault)),
		  });
}

void loss_scale_emit(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct loss_scale *scale = &graph->loss_scale;
	const struct extent chunks = { .fixed = vectors_of(graph), .tile = SCALE_CHUNK };
	const uint32_t vectors = (uint32_t)vectors_of(graph);

	if (scale->scale == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "check_gradients",
				.groups = { chunks },
				ARGUMENTS(IN(graph->gradient_region), UINT(vectors), OUT(scale->bad)),
			});
	emit_verdict(plan);
	plan_emit(plan, &(struct launch){
				.kernel = "unscale_gradients",
				.groups = { chunks },
				ARGUMENTS(INOUT(graph->gradient_region), UINT(vectors), IN(scale->verdict)),
			});
}

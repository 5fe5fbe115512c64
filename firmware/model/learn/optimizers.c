/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/optimizers.h"

#include "model/learn/gradients.h"
#include "model/learn/loss_scale.h"
#include "model/learn/schedules.h"
#include "model/learn/update.h"
#include "model/plan/plan.h"

#include <string.h>

/* ---- The table ---- */

/* In adam.c, sgd.c and adaptive.c. */
extern const struct optimizer optimizer_adam, optimizer_adamw, optimizer_sgd, optimizer_rmsprop,
	optimizer_adagrad, optimizer_adamax, optimizer_lion;

static const struct optimizer *const optimizers[] = { &optimizer_adam,    &optimizer_adamw,
						      &optimizer_sgd,     &optimizer_rmsprop,
						      &optimizer_adagrad, &optimizer_adamax,
						      &optimizer_lion,    NULL };

const struct optimizer *optimizer_find(const char *name)
{
	for (size_t i = 0; optimizers[i]; i++)
		if (!strcmp(optimizers[i]->name, name))
			return optimizers[i];
	return NULL;
}

const char *optimizer_names(void)
{
	return "adam, adamw, sgd, rmsprop, adagrad, adamax, lion";
}

/* Notes a mistake if there is more than one kind of clipping; as in Keras, only one is allowed. */
static void check_clips(const struct config *config, struct mistakes *mistakes)
{
	const struct {
		const char *key;
		double value;
	} clips[] = { { "optimizer.clipvalue", config->optimizer.clipvalue },
		      { "optimizer.clipnorm", config->optimizer.clipnorm },
		      { "optimizer.global_clipnorm", config->optimizer.global_clipnorm } };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(clips) / sizeof(*clips); i++) {
		if (!(clips[i].value > 0))
			continue;
		if (first)
			mistakes_add(mistakes, config_line(config, clips[i].key),
				     "%s: found beside %s, allowed: one of clipvalue, clipnorm and "
				     "global_clipnorm",
				     clips[i].key, first);
		else
			first = clips[i].key;
	}
}

void optimizer_check(const struct config *config, struct mistakes *mistakes)
{
	const char *name = config->optimizer.name;

	if (name && !optimizer_find(name))
		mistakes_add(mistakes, config_line(config, "optimizer.name"),
			     "optimizer.name: found \"%.100s\", allowed: %s", name, optimizer_names());
	if (config->optimizer.lazy && config->optimizer.gradient_accumulation_steps > 1)
		mistakes_add(mistakes, config_line(config, "optimizer.lazy"),
			     "optimizer.lazy: found beside optimizer.gradient_accumulation_steps above 1, "
			     "allowed: one of them");
	if (config->optimizer.lazy && graph_parts(config) > 1)
		mistakes_add(
			mistakes, config_line(config, "optimizer.lazy"),
			config->ranks.exact
				? "optimizer.lazy: found beside order.lanes above 1, allowed: one of them, "
				  "or "
				  "ranks.exact = false"
				: "optimizer.lazy: found true in a run of several ranks, allowed: false");
	schedule_check(config, mistakes);
	check_clips(config, mistakes);
}

/* ---- Rates ---- */

double optimizer_learning_rate(const struct config *config, const struct optimizer *optimizer, uint64_t step)
{
	return schedule_rate(config, optimizer->learning_rate, step);
}

double optimizer_rate(const struct graph *graph, uint64_t step)
{
	return graph->reduced_rate > 0 ? graph->reduced_rate
				       : optimizer_learning_rate(graph->config, graph->optimizer, step);
}

void optimizer_check_parameters(const struct graph *graph, struct mistakes *mistakes)
{
	const char *list = graph->config->optimizer.exclude_from_weight_decay;

	for (size_t bytes; list && (bytes = config_next_name(&list)) > 0; list += bytes) {
		bool found = false;

		for (uint32_t i = 0; i < graph->tensors; i++)
			found |= graph_at(graph, i)->role == ROLE_PARAMETER &&
				 memmem(graph_at(graph, i)->name, strlen(graph_at(graph, i)->name), list,
					bytes) != NULL;
		if (!found)
			mistakes_add(
				mistakes, config_line(graph->config, "optimizer.exclude_from_weight_decay"),
				"optimizer.exclude_from_weight_decay: found \"%.*s\", allowed: a part of a "
				"parameter's name",
				(int)(bytes < 100 ? bytes : 100), list);
	}
}

/* As in Keras, the moving average follows each batch, also while gradients accumulate, and is a plain copy of
 * the parameters up to and including the first update. */
void optimizer_values(const struct graph *graph, uint64_t step, struct plan_values *values)
{
	const struct config *config = graph->config;
	const struct optimizer *optimizer = graph->optimizer;
	const uint64_t batches = config->optimizer.gradient_accumulation_steps, updates = step / batches,
		       every = config->optimizer.ema_overwrite_frequency;
	const double rate = optimizer_rate(graph, step);

	values->update = (step + 1) % batches == 0;
	values->rate =
		(float)(optimizer->correction ? rate * optimizer->correction(config, updates + 1) : rate);
	values->decay = (float)(rate * optimizer_weight_decay(config, optimizer));
	values->average_momentum = updates ? (float)config->optimizer.ema_momentum : 0;
	values->average_replaces = every && (updates + 1) % every == 0;
}

/* ---- Launches ---- */

static void emit_average(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const uint64_t vectors = optimizer_vectors(plan);

	plan_emit(plan, &(struct launch){
				.kernel = "average",
				.groups = { optimizer_groups(plan, vectors) },
				ARGUMENTS(INOUT(graph->parameter_region), INOUT(graph->average_region),
					  UINT(0), UINT((uint32_t)vectors), AT(AVERAGE_MOMENTUM),
					  AT(AVERAGE_REPLACES), loss_scale_verdict(graph)),
			});
}

static void emit_decay(struct plan *plan)
{
	const struct graph *graph = plan->graph;

	plan_emit(plan, &(struct launch){
				.kernel = "decay_weights",
				.on_update = true,
				.groups = { { .fixed = graph->gradients.chunks } },
				ARGUMENTS(INOUT(graph->parameter_region), IN(graph->gradients.chunk),
					  IN(graph->gradients.decays), AT(DECAY), loss_scale_verdict(graph)),
			});
}

void optimizer_emit(struct plan *plan)
{
	loss_scale_emit(plan);
	gradients_emit(plan);
	if (optimizer_excludes(plan->graph))
		emit_decay(plan);
	plan->graph->optimizer->emit(plan, 0, optimizer_vectors(plan));
	if (plan->graph->average_region != GRAPH_NO_TENSOR)
		emit_average(plan);
}

bool optimizer_divides(const struct graph *graph)
{
	return !graph->gradients.prepared && !optimizer_excludes(graph) && !graph->config->optimizer.lazy &&
	       graph->average_region == GRAPH_NO_TENSOR && graph->loss_scale.verdict == GRAPH_NO_TENSOR;
}

void optimizer_emit_part(struct plan *plan, uint64_t from, uint64_t to)
{
	plan->graph->optimizer->emit(plan, from, to);
}

void optimizer_emit_final(struct plan *plan)
{
	if (plan->graph->average_region != GRAPH_NO_TENSOR)
		emit_average(plan);
}

void optimizer_final_values(struct plan_values *values)
{
	*values = (struct plan_values){ .average_momentum = 1, .average_replaces = 1 };
}

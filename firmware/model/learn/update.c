/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/update.h"

#include "model/learn/optimizers.h"
#include "model/plan/kernels.h"

#include <string.h>

struct extent optimizer_groups(const struct plan *plan, uint64_t vectors)
{
	return (struct extent){ .fixed = vectors, .tile = update_shape(plan->cpu).vectors };
}

uint64_t optimizer_vectors(const struct plan *plan)
{
	return graph_at(plan->graph, plan->graph->parameter_region)->elements / 16;
}

double optimizer_weight_decay(const struct config *config, const struct optimizer *optimizer)
{
	return config->optimizer.weight_decay > 0 ? config->optimizer.weight_decay : optimizer->weight_decay;
}

double optimizer_beta_2(const struct config *config, const struct optimizer *optimizer)
{
	return config->optimizer.beta_2 > 0 ? config->optimizer.beta_2 : optimizer->beta_2;
}

bool optimizer_excluded(const struct config *config, const char *parameter)
{
	const char *list = config->optimizer.exclude_from_weight_decay;

	for (size_t bytes; list && (bytes = config_next_name(&list)) > 0; list += bytes)
		if (memmem(parameter, strlen(parameter), list, bytes))
			return true;
	return false;
}

bool optimizer_excludes(const struct graph *graph)
{
	const char *list = graph->config->optimizer.exclude_from_weight_decay;

	return list && config_next_name(&list) > 0 &&
	       optimizer_weight_decay(graph->config, graph->optimizer) > 0;
}

struct argument optimizer_decay(const struct plan *plan)
{
	return optimizer_excludes(plan->graph) ? (struct argument)FLOAT(0) : (struct argument)AT(DECAY);
}

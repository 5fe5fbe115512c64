/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph/inputs.h"

#include "data/batch.h"

#include <assert.h>
#include <string.h>

static enum dtype dtype_of(const struct config_feature *feature)
{
	switch (feature->dtype) {
	case CONFIG_INT64:
		return DTYPE_I64;
	case CONFIG_UINT8:
	case CONFIG_PICTURE:
		return DTYPE_U8;
	default:
		return DTYPE_F32;
	}
}

/* Makes the tensor of a feature. For a name that is no feature, a mistake that config_load() reports, the
 * tensor has size 0, which means unknown. */
static struct tensor batch_tensor(const struct graph *graph, const char *name, enum role role)
{
	const struct config_feature *feature = config_feature_named(graph->config, name);
	struct tensor tensor = {
		.role = role, .arena = ARENA_BATCH, .rows = true, .rank = 1, .feature = feature
	};

	if (feature) {
		tensor.dtype = dtype_of(feature);
		tensor.rank = feature->rank;
		memcpy(tensor.shape, feature->shape, sizeof(tensor.shape));
	}
	(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name ? name : "");
	return tensor;
}

static uint32_t note_input(struct graph *graph, const struct tensor *tensor)
{
	graph->input[graph->inputs] = graph_tensor(graph, tensor);
	return graph->input[graph->inputs++];
}

/* Adds a ragged feature as two inputs, in the order of the ring: the values, then the splits, which say which
 * values belong to which row. */
static uint32_t ragged_input(struct graph *graph, const struct config_feature *feature)
{
	struct tensor values = batch_tensor(graph, feature->name, ROLE_INPUT);
	struct tensor splits = { .dtype = DTYPE_I64,
				 .role = ROLE_INPUT,
				 .arena = ARENA_BATCH,
				 .rank = 1,
				 .shape = { graph->batch_rows + 1 } };
	uint32_t of, splits_of;

	(void)snprintf(splits.name, sizeof(splits.name), "%s" BATCH_SPLITS, feature->name);
	(void)snprintf(values.name, sizeof(values.name), "%s" BATCH_VALUES, feature->name);
	values.rows = false;
	values.rank = 1;
	values.shape[0] = graph->batch_rows * feature->values_max;
	of = note_input(graph, &values);
	splits_of = note_input(graph, &splits);
	graph->tensor[of]->splits = splits_of;
	return of;
}

static_assert(CONFIG_INPUTS_MAX >= CONFIG_FEATURES_MAX, "a layer may join all features");
static_assert(GRAPH_INPUTS_MAX >= 2 * CONFIG_FEATURES_MAX,
	      "a batch may have all features, all of them ragged");

uint32_t graph_feature_input(struct graph *graph, const char *name)
{
	const struct config_feature *feature = config_feature_named(graph->config, name);
	struct tensor tensor;

	for (uint32_t i = 0; feature && i < graph->inputs; i++)
		if (graph_at(graph, graph->input[i])->feature == feature)
			return graph->input[i];
	if (!feature || feature == graph_at(graph, graph->label)->feature || feature->dtype == CONFIG_BYTES ||
	    graph->inputs + 2 > GRAPH_INPUTS_MAX)
		return GRAPH_NO_TENSOR;
	if (feature->values_max)
		return ragged_input(graph, feature);
	tensor = batch_tensor(graph, name, ROLE_INPUT);
	return note_input(graph, &tensor);
}

bool graph_takes_input(const struct config *config)
{
	const char *input = config->model.input;

	if (!input || !config->model.layers || !config->model.layer[0].inputs ||
	    (config->model.base && *config->model.base))
		return true;
	for (uint32_t i = 0; i < config->model.layers; i++)
		for (uint32_t j = 0; j < config->model.layer[i].inputs; j++)
			if (!strcmp(config->model.layer[i].input[j], input))
				return true;
	return false;
}

void graph_add_batch(struct graph *graph)
{
	const struct tensor label = batch_tensor(graph, graph->config->model.label, ROLE_LABEL),
			    empty = { .name = "empty", .dtype = DTYPE_U8, .role = ROLE_EMPTY, .rows = true },
			    unknown = batch_tensor(graph, NULL, ROLE_INPUT);

	const char *weight = graph->config->model.sample_weight;

	graph->label = graph_tensor(graph, &label);
	graph->empty = graph_tensor(graph, &empty);
	graph->weight = GRAPH_NO_TENSOR;
	if (weight && *weight) {
		const struct tensor of_rows = batch_tensor(graph, weight, ROLE_WEIGHT);

		graph->weight = graph_tensor(graph, &of_rows);
	}
	if (graph_takes_input(graph->config) &&
	    graph_feature_input(graph, graph->config->model.input) == GRAPH_NO_TENSOR)
		(void)note_input(graph, &unknown);
}

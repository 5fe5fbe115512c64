/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nodes.h"

#include "core/base/nearest.h"
#include "model/base/base.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/node.h"
#include "model/weights.h"

#include <string.h>

/* Adds the node for the key `activation` of the layer that was added last, if it has one. */
static void add_activation(struct graph *graph, struct mistakes *mistakes)
{
	const struct node *node = &graph->node[graph->nodes - 1];
	struct config_layer layer = { .op = node->activation, .line = node->line };
	char name[GRAPH_LAYER_NAME_MAX + sizeof("_activation")];

	if (!layer.op)
		return;
	(void)snprintf(name, sizeof(name), "%s_activation", node->name);
	layer.name = name;
	graph->node[graph->nodes].is_activation = true;
	graph_add_node(graph, &layer, mistakes);
}

static void check_consumers(const struct graph *graph, struct mistakes *mistakes)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!graph->node[i].inputs)
			return;
	for (uint32_t i = 0; i + 1 < graph->nodes; i++) {
		uint32_t consumers = 0;

		for (uint32_t j = i + 1; j < graph->nodes; j++)
			for (uint32_t k = 0; k < graph->node[j].inputs; k++)
				consumers += graph->node[j].input[k] == graph->node[i].output;
		if (!consumers)
			mistakes_add(
				mistakes, graph->node[i].line,
				"model.layers: found '%s', whose output no later layer reads, allowed: only "
				"for the last layer",
				graph->node[i].name);
	}
}

static void check_output(struct graph *graph, struct mistakes *mistakes)
{
	const struct node *last = &graph->node[graph->nodes - 1];

	graph->output = last->output;
	if (graph_at(graph, last->output)->mask != GRAPH_NO_TENSOR)
		mistakes_add(
			mistakes, last->line,
			"model.layers: found the output of '%s' with the mask of '%s', allowed as the last "
			"layer: one whose output has no mask, such as flatten or global_average_pooling1d",
			last->name, graph_at(graph, graph_at(graph, last->output)->mask)->name);
	loss_check(graph, mistakes);
	optimizer_check_parameters(graph, mistakes);
	weights_check(graph, mistakes);
	check_consumers(graph, mistakes);
	if (!mistakes->count && !graph->parameters)
		mistakes_add(mistakes, last->line,
			     "model.layers: found nothing to learn, allowed: a layer whose parameters are "
			     "not frozen");
}

static void check_features_of(const struct graph *graph, struct mistakes *mistakes)
{
	const char *of = graph->config->model.features_of;

	if (of && *of && (!base_exists(of) || base_reads_texts(of)))
		mistakes_add(mistakes, config_line(graph->config, "model.features_of"),
			     "model.features_of: found \"%.100s\", allowed: %s (bert reads no images)", of,
			     base_names());
}

static void add_layer(struct graph *graph, const struct config_layer *layer, struct mistakes *mistakes)
{
	graph_add_node(graph, layer, mistakes);
	add_activation(graph, mistakes);
}

struct addition {
	struct graph *graph;
	struct mistakes *mistakes;
};

static void add_base_layer(void *context, const struct config_layer *layer, const char *module)
{
	const struct addition *addition = context;

	(void)module;
	add_layer(addition->graph, layer, addition->mistakes);
}

/* Checks that the base can read the layer before it. Its size is 0 after a mistake, which is noted already.
 */
static void check_before_base(const struct graph *graph, struct mistakes *mistakes)
{
	const struct node *before = &graph->node[graph->nodes - 1];
	const struct tensor *output = graph_at(graph, before->output);
	char shape[SHAPE_TEXT_BYTES];

	if (base_reads_texts(graph->config->model.base))
		mistakes_add(
			mistakes, before->line,
			"model.base_after: found the layer '%s', allowed for bert: \"\", because it reads "
			"ids of tokens",
			before->name);
	else if (output->elements && !base_reads(output->rank, output->shape))
		mistakes_add(mistakes, before->line,
			     "model.base_after: found the layer '%s' of shape %s, allowed for %s: [height, "
			     "width, %u], at least %u high and wide",
			     before->name, shape_text(output, shape), graph->config->model.base,
			     BASE_CHANNELS, BASE_SIDE_MIN);
}

static void add_base(struct graph *graph, struct mistakes *mistakes)
{
	if (graph->nodes)
		check_before_base(graph, mistakes);
	base_expand(graph->config, add_base_layer, &(struct addition){ graph, mistakes }, mistakes);
}

/* Adds the layers up to the one that model.base_after names. Returns their number: 0 if the base is first. */
static uint32_t add_before_base(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const char *after = config->model.base_after;
	struct nearest nearest = { .typed = after };
	char meant[NEAREST_TEXT_BYTES];

	if (!after || !*after)
		return 0;
	for (uint32_t i = 0; i < config->model.layers; i++) {
		const uint32_t first = graph->nodes;

		add_layer(graph, &config->model.layer[i], mistakes);
		if (!strcmp(graph->node[first].name, after))
			return i + 1;
		nearest_try(&nearest, graph->node[first].name);
	}
	mistakes_add(mistakes, config_line(config, "model.base_after"),
		     "model.base_after: found \"%.100s\", allowed: a layer of model.layers%s", after,
		     nearest_text(&nearest, meant));
	return config->model.layers;
}

void graph_add_layers(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	uint32_t added = 0;

	/* Each layer may have a second node, for its activation. */
	graph->node = calloc(2 * (BASE_LAYERS_MAX + CONFIG_LAYERS_MAX), sizeof(*graph->node));
	if (!graph->node)
		abort(); /* no memory: end the program, like graph_tensor() */
	check_features_of(graph, mistakes);
	if (base_is_given(config)) {
		added = add_before_base(graph, mistakes);
		add_base(graph, mistakes);
	}
	graph->base_nodes = base_is_given(config) ? graph->nodes : 0;
	graph->base_tensors = graph->tensors;
	for (uint32_t i = added; i < config->model.layers; i++)
		add_layer(graph, &config->model.layer[i], mistakes);
	if (graph->nodes)
		check_output(graph, mistakes);
}

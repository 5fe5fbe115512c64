/* SPDX-License-Identifier: Apache-2.0 */
#include "import/network/masks.h"

#include "model/graph/op.h"

#include <string.h>

struct comparing {
	struct network *network;
	const struct graph *graph;
	const struct network_layer **loser; /* of each tensor: the layer that lost its mask; NULL: none did */
};

/* Tells whether the output of an op depends on the mask of its input. */
static bool reads_mask(const char *op)
{
	static const char *const ops[] = { "lstm", "gru", "simple_rnn", "global_average_pooling1d",
					   "multi_head_attention" };

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strcmp(op, ops[i]) == 0)
			return true;
	return false;
}

static bool has_mask(const struct comparing *comparing, uint32_t tensor)
{
	return graph_at(comparing->graph, tensor)->mask != GRAPH_NO_TENSOR;
}

/* Returns the layer that lost the mask of an input of a node; NULL: none did. */
static const struct network_layer *loser_of(const struct comparing *comparing, const struct node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++)
		if (has_mask(comparing, node->input[i]) && comparing->loser[node->input[i]])
			return comparing->loser[node->input[i]];
	return NULL;
}

/* Compares the mask of the first input with that of the call. Attention has masks that no call names. */
static void compare_call(const struct comparing *comparing, const struct network_layer *layer,
			 const struct node *node)
{
	const bool masked = has_mask(comparing, node->input[0]);

	if (strcmp(node->op->name, "multi_head_attention") == 0)
		return;
	if (layer->mask == NETWORK_MASK_NONE && masked)
		network_refuse(comparing->network, layer->origin,
			       "the call has no mask, Kiln's layer gets that of its input");
	if (layer->mask == NETWORK_MASK_GIVEN && !masked)
		network_refuse(comparing->network, layer->origin,
			       "the call has a mask, and in Kiln its input has none");
}

static void compare(const struct comparing *comparing, const struct network_layer *layer,
		    const struct node *node)
{
	const struct network_layer *loser = loser_of(comparing, node);

	if (loser)
		network_refuse(comparing->network, layer->origin,
			       "Keras loses the mask at %s, Kiln's layer gets it", loser->origin);
	else
		compare_call(comparing, layer, node);
	if (layer->zeros_masked && has_mask(comparing, node->input[0]))
		network_refuse(comparing->network, layer->origin,
			       "return_sequences with a mask: Kiln repeats the output of the step before "
			       "where Keras has zeros");
}

int masks_check(struct network *network, const struct graph *graph, struct error *err)
{
	struct comparing comparing = { network, graph, NULL };
	const int before = cJSON_GetArraySize(network->refusals);

	comparing.loser = network_must(calloc(graph->tensors, sizeof(const struct network_layer *)));
	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];
		const struct network_layer *layer = network_find(network, node->name);

		comparing.loser[node->output] =
			layer && layer->loses_mask ? layer : loser_of(&comparing, node);
		if (layer && reads_mask(node->op->name))
			compare(&comparing, layer, node);
	}
	free(comparing.loser);
	return cJSON_GetArraySize(network->refusals) == before
		       ? 0
		       : error_set(err, -EINVAL, "Kiln treats masks of the network otherwise");
}

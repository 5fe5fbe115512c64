/* SPDX-License-Identifier: Apache-2.0 */
#include "import/network/weights.h"

#include "model/checkpoint.h"
#include "model/graph/op.h"

#include <inttypes.h>
#include <string.h>

struct writing {
	const struct network *network;
	const struct graph *graph;
	network_weight *weight;
	void *context;
	struct model_tensor *tensor;
	uint32_t tensors;
	uint64_t numbers;
};

static int read_one(struct writing *writing, const struct network_layer *layer, const struct node *node,
		    uint32_t parameter, uint32_t index, struct error *err)
{
	const struct tensor *like = graph_at(writing->graph, node->parameter[parameter]);
	float *numbers = calloc(like->elements + 1, sizeof(*numbers));

	if (!numbers)
		return error_set(err, -ENOMEM, "%s: no memory for %" PRIu64 " numbers", layer->origin,
				 like->elements);
	writing->tensor[writing->tensors] = (struct model_tensor){
		.name = like->name,
		.dtype = "F32",
		.rank = like->rank,
		.data = numbers,
		.bytes = like->elements * sizeof(*numbers),
	};
	memcpy(writing->tensor[writing->tensors++].shape, like->shape, sizeof(like->shape));
	writing->numbers += like->elements;
	return writing->weight(writing->context, layer, node->op->parameter[parameter].name, index, like,
			       numbers, err);
}

static int read_node(struct writing *writing, const struct node *node, struct error *err)
{
	const struct network_layer *layer = network_find(writing->network, node->name);
	uint32_t index = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < node->parameters; i++) {
		if (node->parameter[i] == GRAPH_NO_TENSOR)
			continue;
		if (!layer || writing->tensors == SAFETENSORS_TENSORS_MAX)
			return error_set(err, -EINVAL, "%s: no weights for it", node->name);
		r = read_one(writing, layer, node, i, index++, err);
	}
	return r;
}

int weights_write(const struct network *network, const struct graph *graph, const char *text,
		  const char *path, network_weight *weight, void *context, uint32_t *ret_tensors,
		  uint64_t *ret_numbers, struct error *err)
{
	const struct safetensors_note notes[] = {
		{ "format", MODEL_FORMAT },
		{ "version", CHECKPOINT_VERSION },
		{ "graph_hash", graph->hash },
		{ "layers_hash", graph->layers_hash },
		{ "config", text },
	};
	struct writing writing = { .network = network, .graph = graph, .weight = weight, .context = context };
	int r = 0;

	writing.tensor = calloc(SAFETENSORS_TENSORS_MAX, sizeof(*writing.tensor));
	if (!writing.tensor)
		return error_set(err, -ENOMEM, "no memory for the weights");
	for (uint32_t i = 0; r == 0 && i < graph->nodes; i++)
		r = read_node(&writing, &graph->node[i], err);
	if (r == 0)
		r = safetensors_write(path, writing.tensor, writing.tensors, notes,
				      sizeof(notes) / sizeof(*notes), err);
	*ret_tensors = writing.tensors;
	*ret_numbers = writing.numbers;
	for (uint32_t i = 0; i < writing.tensors; i++)
		free((void *)(uintptr_t)writing.tensor[i].data);
	free(writing.tensor);
	return r;
}

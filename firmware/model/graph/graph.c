/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph/graph.h"

#include <inttypes.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t bytes;
} dtypes[] = {
	[DTYPE_F32] = { "F32", 4 }, [DTYPE_F16] = { "F16", 2 }, [DTYPE_BF16] = { "BF16", 2 },
	[DTYPE_I64] = { "I64", 8 }, [DTYPE_U32] = { "U32", 4 }, [DTYPE_U8] = { "U8", 1 },
};

uint32_t dtype_bytes(enum dtype dtype)
{
	return dtypes[dtype].bytes;
}

const char *dtype_name(enum dtype dtype)
{
	return dtypes[dtype].name;
}

/* Sets elements and bytes from the shape. */
static void measure(const struct graph *graph, struct tensor *tensor)
{
	tensor->elements = 1;
	for (uint32_t i = 0; i < tensor->rank; i++)
		tensor->elements *= tensor->shape[i];
	tensor->bytes =
		tensor->elements * dtype_bytes(tensor->dtype) * (tensor->rows ? graph->batch_rows : 1);
}

uint32_t graph_tensor(struct graph *graph, const struct tensor *tensor)
{
	struct tensor *added;

	if (graph->tensors == graph->tensors_capacity) {
		graph->tensors_capacity = graph->tensors_capacity ? 2 * graph->tensors_capacity : 64;
		graph->tensor = realloc(graph->tensor, graph->tensors_capacity * sizeof(struct tensor *));
		if (!graph->tensor)
			abort();
	}
	added = malloc(sizeof(*added));
	if (!added)
		abort();
	graph->tensor[graph->tensors] = added;
	*added = *tensor;
	added->gradient = GRAPH_NO_TENSOR;
	added->splits = tensor->splits ? tensor->splits : GRAPH_NO_TENSOR;
	added->mask = tensor->mask ? tensor->mask : GRAPH_NO_TENSOR;
	added->offset = UINT64_MAX;
	added->constant = NULL;
	measure(graph, added);
	return graph->tensors++;
}

void graph_enlarge(struct graph *graph, uint32_t tensor, const struct tensor *shape)
{
	struct tensor *kept = graph->tensor[tensor], wanted = *shape;

	measure(graph, &wanted);
	if (wanted.bytes <= kept->bytes)
		return;
	kept->dtype = wanted.dtype;
	kept->rank = wanted.rank;
	kept->rows = wanted.rows;
	memcpy(kept->shape, wanted.shape, sizeof(kept->shape));
	measure(graph, kept);
}

const struct node *graph_only_reader(const struct graph *graph, uint32_t tensor)
{
	const struct node *reader = NULL;

	for (uint32_t i = 0; i < graph->nodes; i++)
		for (uint32_t k = 0; k < graph->node[i].inputs; k++) {
			if (graph->node[i].input[k] != tensor)
				continue;
			if (reader)
				return NULL;
			reader = &graph->node[i];
		}
	return reader;
}

int graph_common_mask(const struct graph *graph, const struct node *node, uint32_t *ret_mask,
		      struct error *err)
{
	uint32_t mask = graph_at(graph, node->input[0])->mask;

	for (uint32_t i = 1; i < node->inputs; i++) {
		const struct tensor *first = graph_at(graph, node->input[0]),
				    *other = graph_at(graph, node->input[i]);

		if (mask != GRAPH_NO_TENSOR && other->mask != GRAPH_NO_TENSOR && mask != other->mask)
			return error_set(err, -EINVAL,
					 "found '%s' with the mask of '%s' and '%s' with that of '%s', "
					 "allowed: one mask, that of the same ids",
					 first->name, graph_at(graph, mask)->name, other->name,
					 graph_at(graph, other->mask)->name);
		if (other->mask == GRAPH_NO_TENSOR)
			mask = GRAPH_NO_TENSOR;
	}
	*ret_mask = mask;
	return 0;
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])) == 0;
}

int tensor_check_image(const struct tensor *tensor, struct error *err)
{
	char text[SHAPE_TEXT_BYTES];

	if (tensor->rank == 3)
		return 0;
	return error_set(err, -EINVAL, "found '%s' of shape %s, allowed: an image [height, width, channels]",
			 tensor->name, shape_text(tensor, text));
}

int tensor_check_sequence(const struct tensor *tensor, struct error *err)
{
	char text[SHAPE_TEXT_BYTES];

	if (tensor->rank == 2)
		return 0;
	return error_set(err, -EINVAL, "found '%s' of shape %s, allowed: a sequence [steps, channels]",
			 tensor->name, shape_text(tensor, text));
}

uint64_t tensor_outer(const struct tensor *tensor)
{
	uint64_t outer = 1;

	for (uint32_t i = 0; i + 1 < tensor->rank; i++)
		outer *= tensor->shape[i];
	return outer;
}

uint64_t tensor_last(const struct tensor *tensor)
{
	return tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
}

uint64_t tensor_end(const struct tensor *tensor)
{
	return (tensor->offset + tensor->bytes + TENSOR_SLACK + TENSOR_ALIGN - 1) / TENSOR_ALIGN *
	       TENSOR_ALIGN;
}

const char *shape_text(const struct tensor *tensor, char out[static SHAPE_TEXT_BYTES])
{
	size_t used = 0;

	for (uint32_t i = 0; i < tensor->rank; i++)
		used += (size_t)snprintf(out + used, SHAPE_TEXT_BYTES - used, "%s%" PRIu64, i ? ", " : "[",
					 tensor->shape[i]);
	(void)snprintf(out + used, SHAPE_TEXT_BYTES - used, tensor->rank ? "]" : "[]");
	return out;
}

void graph_cut(struct graph *graph, uint32_t tensors)
{
	while (graph->tensors > tensors) {
		struct tensor *last = graph->tensor[--graph->tensors];

		free(last->constant);
		free(last);
	}
}

uint32_t graph_parts(const struct config *config)
{
	if (config->ranks.exact)
		return config->order.lanes > 1 ? (uint32_t)config->order.lanes : 1;
	return config->ranks.world > 1 ? config->ranks.world : 1;
}

void graph_done(struct graph *graph)
{
	graph_cut(graph, 0);
	free(graph->tensor);
	free(graph->node);
	*graph = (struct graph){ 0 };
}

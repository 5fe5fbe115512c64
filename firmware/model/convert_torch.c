/* SPDX-License-Identifier: Apache-2.0 */
#include "model/convert_torch.h"

#include "model/graph/op.h"

#include <stdio.h>
#include <string.h>

static const struct torch_parameter {
	const char *op, *kiln, *torch; /* op: NULL = any */
	enum torch_layout layout;
} parameters[] = {
	{ "conv2d", "kernel", ".weight", LAYOUT_CONV },
	{ "depthwise_conv2d", "kernel", ".weight", LAYOUT_DEPTHWISE },
	{ "dense", "kernel", ".weight", LAYOUT_TRANSPOSED },
	{ "embedding", "embeddings", ".weight", LAYOUT_SAME },
	{ "position_embedding", "embeddings", ".weight", LAYOUT_SAME },
	{ "multi_head_attention", "query_kernel", ".self.query.weight", LAYOUT_TRANSPOSED },
	{ "multi_head_attention", "query_bias", ".self.query.bias", LAYOUT_FLAT },
	{ "multi_head_attention", "key_kernel", ".self.key.weight", LAYOUT_TRANSPOSED },
	{ "multi_head_attention", "key_bias", ".self.key.bias", LAYOUT_FLAT },
	{ "multi_head_attention", "value_kernel", ".self.value.weight", LAYOUT_TRANSPOSED },
	{ "multi_head_attention", "value_bias", ".self.value.bias", LAYOUT_FLAT },
	{ "multi_head_attention", "attention_output_kernel", ".output.dense.weight", LAYOUT_TRANSPOSED },
	{ "multi_head_attention", "attention_output_bias", ".output.dense.bias", LAYOUT_SAME },
	{ NULL, "gamma", ".weight", LAYOUT_SAME },
	{ NULL, "beta", ".bias", LAYOUT_SAME },
	{ NULL, "bias", ".bias", LAYOUT_SAME },
	{ NULL, "moving_mean", ".running_mean", LAYOUT_SAME },
	{ NULL, "moving_variance", ".running_var", LAYOUT_SAME },
};

static const struct torch_parameter *find(const struct node *node, const struct tensor *to)
{
	const char *name = strrchr(to->name, '/') + 1;

	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		if (!strcmp(parameters[i].kiln, name) &&
		    (!parameters[i].op || !strcmp(parameters[i].op, node->op->name)))
			return &parameters[i];
	return NULL;
}

static enum torch_layout layout_of(const struct node *node, const struct tensor *to)
{
	const struct torch_parameter *parameter = find(node, to);

	return parameter ? parameter->layout : LAYOUT_SAME;
}

void torch_name(const struct node *node, const char *module, const struct tensor *to,
		char out[static GRAPH_NAME_BYTES])
{
	const struct torch_parameter *parameter = find(node, to);

	(void)snprintf(out, GRAPH_NAME_BYTES, "%s%s", module, parameter ? parameter->torch : "");
}

/* The outputs of a kernel: its last dimension, and of the kernels of queries, keys and values the last two,
 * heads and their size. */
static uint64_t outputs_of(const struct tensor *to)
{
	const bool heads =
		to->rank == 3 && strcmp(strrchr(to->name, '/') + 1, "attention_output_kernel") != 0;

	return heads ? to->shape[1] * to->shape[2] : to->shape[to->rank - 1];
}

struct tensor torch_shape(const struct node *node, const struct tensor *to)
{
	const enum torch_layout layout = layout_of(node, to);
	const uint64_t *shape = to->shape;
	struct tensor found = *to;

	if (layout == LAYOUT_FLAT) {
		found.rank = 1;
		found.shape[0] = to->elements;
	} else if (layout == LAYOUT_TRANSPOSED) {
		found.rank = 2;
		found.shape[0] = outputs_of(to);
		found.shape[1] = to->elements / outputs_of(to);
	} else if (layout == LAYOUT_CONV || layout == LAYOUT_DEPTHWISE) {
		found.shape[0] = shape[layout == LAYOUT_DEPTHWISE ? 2 : 3];
		found.shape[1] = shape[layout == LAYOUT_DEPTHWISE ? 3 : 2];
		found.shape[2] = shape[0];
		found.shape[3] = shape[1];
	}
	return found;
}

struct torch_order torch_order(const struct node *node, const struct tensor *to)
{
	const uint64_t *shape = to->shape;
	struct torch_order order = { .layout = layout_of(node, to) };

	if (order.layout == LAYOUT_TRANSPOSED) {
		order.outputs = outputs_of(to);
		order.inputs = to->elements / order.outputs;
	} else if (order.layout == LAYOUT_CONV || order.layout == LAYOUT_DEPTHWISE) {
		order.window = shape[0] * shape[1];
		order.in = shape[2];
		order.last = shape[3];
	}
	return order;
}

uint64_t torch_index(const struct torch_order *order, uint64_t i)
{
	const uint64_t in = order->in, last = order->last;

	if (order->layout == LAYOUT_TRANSPOSED)
		return i % order->outputs * order->inputs + i / order->outputs;
	if (order->layout == LAYOUT_CONV || order->layout == LAYOUT_DEPTHWISE) {
		const uint64_t at = i / last / in, out = i % last, of = i / last % in;

		return (order->layout == LAYOUT_DEPTHWISE ? of * last + out : out * in + of) * order->window +
		       at;
	}
	return i;
}

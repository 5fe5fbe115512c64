/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/attention.h"
#include "model/plan/round.h"

#include <math.h>

uint32_t attention_input(const struct node *node, uint32_t parameter)
{
	const uint32_t wanted = parameter == ATTENTION_QUERY ? QUERY_INPUT
				: parameter == ATTENTION_KEY ? KEY_INPUT
							     : VALUE_INPUT;

	return wanted < node->inputs ? wanted : node->inputs - 1;
}

uint32_t attention_key_mask(const struct graph *graph, const struct node *node)
{
	const uint32_t of_value = graph_at(graph, node->input[attention_input(node, ATTENTION_VALUE)])->mask,
		       of_key = graph_at(graph, node->input[attention_input(node, ATTENTION_KEY)])->mask;

	return of_value == GRAPH_NO_TENSOR ? of_key : of_value;
}

struct attention_sizes attention_sizes_of(const struct graph *graph, const struct node *node)
{
	const struct attribute *attribute = node->attribute;
	const struct tensor *query = graph_at(graph, node->input[QUERY_INPUT]);
	const uint64_t size = (uint64_t)attribute[ATTENTION_KEY_DIM].i,
		       values = (uint64_t)attribute[ATTENTION_VALUE_DIM].i;

	return (struct attention_sizes){
		.heads = (uint64_t)attribute[ATTENTION_HEADS].i,
		.queries = query->shape[0],
		.keys = graph_at(graph, node->input[attention_input(node, ATTENTION_KEY)])->shape[0],
		.size = size,
		.values = values ? values : size,
		.outputs = tensor_last(query),
		.causal = attribute[ATTENTION_CAUSAL].b,
		.scale = 1 / sqrt((double)size),
		.dropout = attribute[ATTENTION_DROPOUT].f,
	};
}

uint64_t attention_drop_number(const struct attention_sizes *size, uint64_t head, uint64_t query,
			       uint64_t key)
{
	const uint64_t column = (head * divide_up(size->keys, 4) + key / 4) * size->queries + query;

	return column / 16 * 64 + key % 4 * 16 + column % 16;
}

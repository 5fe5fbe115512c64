/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multi_head_attention, as in Keras. Inputs: query [Tq, E], value [Tk, Ev], key [Tk, Ek]. With one input it
 * is all three (self attention); with two the second is value and key. Output: [Tq, E].
 *
 * Launches: a product with its bias for each of query, key and value, one launch of kernels/attention.cl, and
 * the product of the output. The scores of queries and keys are never in memory. The backward pass has two
 * launches of attention.cl, one for the gradients of queries, one for those of keys and values, and products.
 *
 * Masks, as in Keras: a key that the mask hides gets no weight, and the output has the mask of the query. A
 * query that its mask leaves out, and one that sees no key, has the weight 0 for all keys, as in Keras's
 * layer with dropout; without dropout Keras gives it the mean of all values.
 *
 * Dropout drops weights of the softmax, in training. Bits: every sum has one order (kernels/attention.cl),
 * and the numbers of a row depend on this row alone.
 */
#pragma once

#include "model/graph/op.h"

enum attention_inputs { QUERY_INPUT, VALUE_INPUT, KEY_INPUT };

enum attention_attribute {
	ATTENTION_HEADS,
	ATTENTION_KEY_DIM,
	ATTENTION_VALUE_DIM, /* 0: that of the keys */
	ATTENTION_DROPOUT,
	ATTENTION_USE_BIAS,
	ATTENTION_CAUSAL,
	ATTENTION_KERNEL_INITIALIZER,
	ATTENTION_BIAS_INITIALIZER,
};

/* The kernels; the bias of each is the next parameter. */
enum attention_parameter {
	ATTENTION_QUERY,
	ATTENTION_KEY = 2,
	ATTENTION_VALUE = 4,
	ATTENTION_OUTPUT = 6,
	ATTENTION_PARAMETERS_MAX = 8,
};

/* Sizes of a layer: time steps, numbers of a query or key and of a value of a head, numbers of a step of the
 * output. */
struct attention_sizes {
	uint64_t heads, queries, keys, size, values, outputs;
	bool causal;
	double scale, dropout;
};

struct attention_sizes attention_sizes_of(const struct graph *graph, const struct node *node);
/* Returns the index of the input that ATTENTION_QUERY, _KEY or _VALUE reads. */
uint32_t attention_input(const struct node *node, uint32_t parameter);
/* Returns the mask of the keys: that of value or key; GRAPH_NO_TENSOR: all count. */
uint32_t attention_key_mask(const struct graph *graph, const struct node *node);
/* Returns the number c of a row that says whether dropout keeps a weight (graph/random.h). */
uint64_t attention_drop_number(const struct attention_sizes *size, uint64_t head, uint64_t query,
			       uint64_t key);
/* Functions of the row of the table. */
void attention_reference(const struct op_reference *reference);
void attention_export(struct export *out, const struct node *node);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where PyTorch keeps the numbers of a parameter of Kiln (convert.h has the table): the name of its tensor,
 * its shape, and the place of each number. One layout belongs to each kind of layer.
 */
#pragma once

#include "model/graph/graph.h"

/* Writes the name of the tensor in a file of PyTorch: that of the layer's module, and behind it the
 * parameter's. `to`: a parameter of the node. */
void torch_name(const struct node *node, const char *module, const struct tensor *to,
		char out[static GRAPH_NAME_BYTES]);
/* Returns the parameter's shape in a file of PyTorch. */
struct tensor torch_shape(const struct node *node, const struct tensor *to);
/* Returns the index in a file of PyTorch of number `i` of the parameter. */
uint64_t torch_index(const struct node *node, const struct tensor *to, uint64_t i);

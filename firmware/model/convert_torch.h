/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where PyTorch keeps the numbers of a parameter of Kiln (convert.h has the table): the name of its tensor,
 * its shape, and the place of each number. One layout belongs to each kind of layer.
 */
#pragma once

#include "model/graph/graph.h"

/* How the file has the numbers. TRANSPOSED: [inputs, outputs] as [outputs, inputs]; each of the two may be
 * several dimensions of Kiln, which the file has as one. */
enum torch_layout { LAYOUT_SAME, LAYOUT_FLAT, LAYOUT_CONV, LAYOUT_DEPTHWISE, LAYOUT_TRANSPOSED };

struct torch_order {
	enum torch_layout layout;
	uint64_t inputs, outputs; /* of TRANSPOSED */
	uint64_t window, in,
		last; /* of CONV and DEPTHWISE: height times width, and the last two dimensions */
};

/* Writes the name of the tensor in a file of PyTorch: that of the layer's module, and behind it the
 * parameter's. `to`: a parameter of the node. */
void torch_name(const struct node *node, const char *module, const struct tensor *to,
		char out[static GRAPH_NAME_BYTES]);
/* Returns the parameter's shape in a file of PyTorch. */
struct tensor torch_shape(const struct node *node, const struct tensor *to);
/* Returns where a file of PyTorch has the parameter's numbers, and the index there of number `i`. */
struct torch_order torch_order(const struct node *node, const struct tensor *to);
uint64_t torch_index(const struct torch_order *order, uint64_t i);

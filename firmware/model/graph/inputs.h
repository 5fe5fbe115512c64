/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a batch: the features of the schema that a graph reads. */
#pragma once

#include "model/graph/graph.h"

/* Returns whether a layer reads model.input: the first layer, if it has no `inputs`, or a layer with this
 * feature in its `inputs`. */
bool graph_takes_input(const struct config *config);

/* Returns the tensor of a feature; adds it to the graph's inputs at its first use.
 * Returns GRAPH_NO_TENSOR for the label and for a name that is no feature. */
uint32_t graph_feature_input(struct graph *graph, const char *name);

/* Adds the label, the flags of empty rows, the sample weight and model.input, if a layer reads it. */
void graph_add_batch(struct graph *graph);

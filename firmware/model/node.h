/* SPDX-License-Identifier: Apache-2.0 */
/* One node of a graph: its name, inputs, output and parameters. */
#pragma once

#include "model/graph/graph.h"

/* Adds the node of a layer, for which graph->node has room. Notes every mistake of the layer. After a mistake
 * the size of its output is 0, which means unknown, and no further mistakes are noted for it. */
void graph_add_node(struct graph *graph, const struct config_layer *layer, struct mistakes *mistakes);

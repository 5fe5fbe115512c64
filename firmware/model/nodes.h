/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a graph: one for each layer of the configuration, and one for its activation. */
#pragma once

#include "model/graph/graph.h"

/* Adds the nodes of the configuration's layers, with their outputs and parameters. Notes every mistake of a
 * layer, and of the layers as a whole. */
void graph_add_layers(struct graph *graph, struct mistakes *mistakes);

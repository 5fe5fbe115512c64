/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that build a graph share: graph.c tensors and features, graph_nodes.c layers, graph_hash.c
 * the hash. Nobody else includes it.
 */
#pragma once

#include "model/graph/graph.h"

/* Of the schema; NULL: there is none of that name. */
const struct config_feature *graph_feature_named(const struct config *config, const char *name);

/* A feature as a graph input, noted at its first use. GRAPH_NO_TENSOR: no such feature, or the label. */
uint32_t graph_feature_input(struct graph *graph, const char *name);

/* The nodes of the configuration's layers, and what must hold of all of them together. */
void graph_add_layers(struct graph *graph, struct mistakes *mistakes);

/* Of what decides which state fits this graph. Errors: -ENOMEM. */
MUST_CHECK int graph_set_hash(struct graph *graph, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a graph from a configuration: features, layers, the layout of its arenas, its hashes. */
#pragma once

#include "model/graph/graph.h"

/* Note what the tables of layers, losses and optimizers have against a config: for config_check(). */
void graph_check(const struct config *config, struct mistakes *mistakes);

/* Build from config.model, config.feature, config.optimizer of a loaded config, which must outlive the graph.
 * Errors: -EINVAL with every mistake that graph_check() notes, the config's file and the line first. */
MUST_CHECK int graph_build(const struct config *config, bool training, struct graph *ret_graph,
			   struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a graph from a configuration: features, layers, the layout of its arenas, its hashes. */
#pragma once

#include "model/graph/graph.h"

/* For trials_check(): notes every mistake that the tables of layers, losses and optimizers find in a
 * configuration. */
void graph_check(const struct config *config, struct mistakes *mistakes);

/* Builds a graph from config.model, config.feature and config.optimizer. `config` must be loaded and must
 * outlive the graph. Errors: -EINVAL with every mistake that graph_check() notes; the text begins with the
 * file and line of the first mistake. */
MUST_CHECK int graph_build(const struct config *config, bool training, struct graph *ret_graph,
			   struct error *err);
/* Builds the graph of config.model.base alone, without training: its output is the last layer of the base,
 * which the first layer of config.model.layers reads. Errors: as of graph_build(); -EINVAL there is no base.
 */
MUST_CHECK int graph_build_base(const struct config *config, struct graph *ret_graph, struct error *err);

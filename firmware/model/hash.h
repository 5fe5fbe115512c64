/* SPDX-License-Identifier: Apache-2.0 */
/* The hashes that tell whether a checkpoint fits a graph. */
#pragma once

#include "model/graph/graph.h"

/* Sets graph->hash and graph->layers_hash. Errors: -ENOMEM. */
MUST_CHECK int graph_set_hash(struct graph *graph, struct error *err);

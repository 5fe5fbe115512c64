/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the masks of a graph with those that the file's program has. In Kiln a layer gets the mask of its
 * input; there a function may lose it, and a call may be given one or none.
 *
 * Threads: none. Crash: nothing is stored.
 */
#pragma once

#include "import/network/network.h"
#include "model/graph/graph.h"

/* Refuses each layer that reads a mask in one of the two programs alone, or that treats it otherwise. Errors:
 * -EINVAL there is a refusal. */
MUST_CHECK int masks_check(struct network *network, const struct graph *graph, struct error *err);

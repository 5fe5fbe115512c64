/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places tensors in their arenas, and adds those that only training needs. Order: layout_state (by
 * graph_build) -> the plans add scratch -> layout_work -> allocate arena_bytes.
 */
#pragma once

#include "model/graph/graph.h"

/* Adds and places parameters and state of layers. With graph->training also gradients, slots, sums, counters,
 * faults, and the regions that one launch of the optimizer covers. */
void layout_state(struct graph *graph);
/* Places activations, their gradients and scratch. */
void layout_work(struct graph *graph);
/* Returns the bytes that a tensor's sub-buffer has: with the slack, except for a region, which may end where
 * the arena does. */
uint64_t layout_part_bytes(const struct tensor *tensor);

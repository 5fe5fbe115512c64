/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where tensors lie, and those that training adds. Order: layout_state (by graph_build) -> the plans add
 * scratch -> layout_work -> allocate arena_bytes.
 */
#pragma once

#include "model/graph/graph.h"

/* Parameters and layers' state; with graph->training also gradients, slots, sums, counters, faults and the
 * regions that one optimizer launch covers. */
void layout_state(struct graph *graph);
/* Activations, their gradients, scratch. */
void layout_work(struct graph *graph);
/* Bytes of a tensor's part of its arena: with its slack, but for regions, which end where the arena may. */
uint64_t layout_part_bytes(const struct tensor *tensor);

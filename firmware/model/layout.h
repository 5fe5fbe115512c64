/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives tensors their offsets in the arenas, and adds the tensors that only training needs. Order:
 * layout_state (by graph_build) -> the plans add scratch -> layout_work -> allocate arena_bytes.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Sets the offsets of parameters and state of layers. With graph->training also adds gradients, slots, sums,
 * counters, faults, and the regions that one launch of the optimizer covers, with their offsets. */
void layout_state(struct graph *graph);
/* Sets the offsets of activations, their gradients and scratch. With plans, tensors that never live at the
 * same time share bytes, and a tensor that no plan uses has no place (plan/lifetime.h). Without plans each
 * tensor has bytes of its own, for tests and benches that read all of them. */
void layout_work(struct graph *graph, const struct plan *const *plan, uint32_t plans);
/* Returns the bytes of a tensor's sub-buffer. They include the slack after the tensor, except for a region,
 * because it may end at the end of the arena. */
uint64_t layout_buffer_bytes(const struct tensor *tensor);

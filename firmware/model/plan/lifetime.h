/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lifetimes: from which launch to which launch of a plan a tensor of the work arena holds numbers that a
 * launch reads, and places for tensors so that two tensors share bytes if they never live at the same time.
 *
 * Why launches and not chains: a phase of a chain begins when every group of the phases before it has ended
 * (kernels/chain.cl), and the queue of a device is in order. So a launch is a moment. The tensors of one
 * launch all live at that moment.
 *
 * A tensor is kept, that is it shares no byte, if a run needs what an earlier run or the host has left there:
 *   - it has a constant, or a launch reads it before a launch of that plan has written all of it;
 *   - a launch that some steps leave out (on_update) is the first to write it, but other launches use it.
 * The output of the graph lives until its plan ends, because the host reads it then. A tensor that no launch
 * uses, for example because of fusion, has no place: its offset stays LIFETIME_NO_PLACE.
 *
 * Places have the alignment and the slack of graph.h. They depend on nothing but the plans, and no number
 * that a launch computes depends on them.
 */
#pragma once

#include "model/plan/plan.h"

#define LIFETIME_NO_PLACE UINT64_MAX

struct lifetime {
	bool used, kept;
	uint32_t first, last; /* indices of launches, both included */
};

/* Returns the lifetime of each tensor of plan->graph in this plan; the caller frees the array. Call it after
 * plan_fuse() and before chain_plan(). */
struct lifetime *lifetimes_of(const struct plan *plan);

/* Sets the offsets of all tensors of the work arena that have none yet, and the arena's size. */
void lifetime_place(struct graph *graph, const struct plan *const *plan, uint32_t plans);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a run reads a shard again: a pure function of the plan and of where the run stands, O(1). A cache
 * keeps what comes soonest.
 */
#pragma once

#include "data/plan.h"

/* How far off, in passes over the shard's source: 0 for what the current windows still need, INFINITY for
 * what the run needs no more. `held`: so many windows of a pass, from the cursor's on, have been read
 * already, and do not count; 0 = none, else the cursor's, the one behind it and what is read further ahead.
 */
double next_use(const struct plan *plan, const struct cursor *cursor, uint32_t source, enum split split,
		uint64_t index, uint32_t held);

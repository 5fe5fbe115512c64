/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a run reads a shard again: a pure function of the plan and of where the run stands, O(1). A cache
 * keeps what comes soonest.
 */
#pragma once

#include "data/plan.h"

/* How far off, in passes over the shard's source: 0 for what the current windows still need, INFINITY for
 * what the run needs no more. `read`: somebody has just read it, so the cursor's window and the one behind
 * it do not count. */
double next_use(const struct plan *plan, const struct cursor *cursor, uint32_t source, enum split split,
		uint64_t index, bool read);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a run reads a shard again: a pure function of the plan and the cursor, O(lanes).
 *
 * Why: the order of a run is known in advance, so the cache can evict the shard that is read last, as the
 * optimal policy of Belady does, where other caches guess by the last use. No list of future reads is needed:
 * the position of a shard in any pass is computed by the inverse permutation (order_shard_position).
 */
#pragma once

#include "data/plan.h"

/* Returns the distance to the next read, in passes over the shard's source: 0 = a current window needs the
 * shard, INFINITY = the run reads the shard no more.
 * `held` excludes windows that have been read into memory already: 0 = none; else so many windows of the
 * pass, from the cursor's window on (it, the next one, and windows read further ahead). */
double next_use(const struct plan *plan, const struct cursor *cursor, uint32_t source, enum split split,
		uint64_t index, uint32_t held);

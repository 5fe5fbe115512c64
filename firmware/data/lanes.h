/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor of a whole run from the cursors of its ranks. Several ranks share the lanes of a run
 * (data/order.h) and each rank's cursor has valid places for its own lanes only. Merged, the run can go on
 * with any other number of ranks. Pure functions.
 */
#pragma once

#include "data/plan.h"

/* Merges the cursors of `ranks` ranks, cursor[r] of rank r, which all stand after the same global batch. A
 * rank whose lanes have no more rows may already stand at the start of the next segment. `from` is the cursor
 * that all ranks began at. In the middle of an evaluation, the result is the evaluation's start. To go on,
 * each rank sets its own rank and world in the result. Errors: -EINVAL two cursors do not belong together:
 * which ones, and where they stand. */
MUST_CHECK int lanes_merge(const struct plan *plan, const struct cursor *from, const struct cursor *cursor,
			   uint32_t ranks, struct cursor *ret_cursor, struct error *err);

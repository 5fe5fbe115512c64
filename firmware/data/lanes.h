/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several ranks share the lanes of a run; each knows only where its own stand.
 */
#pragma once

#include "data/plan.h"

/* The cursor of the whole run from those of its `ranks` ranks, rank r's at cursor[r], all behind the same
 * global batch. Any number of ranks can go on from it, each asking with its own rank and world in it. `from`
 * is the one that they all began at. A rank whose lanes have no more rows may stand at the start of the next
 * segment already. An evaluation begins anew. Errors: -EINVAL they do not belong together: which two, and
 * where they stand. */
MUST_CHECK int lanes_merge(const struct plan *plan, const struct cursor *from, const struct cursor *cursor,
			   uint32_t ranks, struct cursor *ret_cursor, struct error *err);

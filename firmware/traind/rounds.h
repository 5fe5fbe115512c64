/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes next, for all ranks of a run at once (world.h). Before each batch the ranks tell each other
 * which slot they have, whether they fail or must stop, and what rank 0 wants: a checkpoint, a pause. So all
 * of them do the same. A rank whose lanes have no more rows in this segment takes part in the steps of the
 * others with a batch of empty rows. A round takes at most about a second where a rank has no slot yet: a
 * wish is obeyed while ranks wait for data. Main thread only.
 */
#pragma once

#include "core/ring/ring.h"
#include "model/model.h"

struct train;

struct rounds {
	const struct ring_slot *held; /* the next slot of this rank, which the step has not used yet */
	bool paused;
	bool over;                /* all ranks have come to the end of the run: they make no round any more */
	struct model_batch empty; /* of rows that are all empty */
	void *memory;             /* of `empty`; NULL = not needed so far */
	/* the step for which this rank had no slot: whether it trains, and the segment */
	bool trains;
	uint64_t segment;
};

/* Gets the next slot, of kind RING_DATA, RING_END_SEGMENT or RING_END_RUN, which follows the model's cursor.
 * All ranks get a slot of the same segment and kind. NULL: another rank trains on a batch, and this one has
 * no rows for it: rounds_empty(). Writes a checkpoint if one is due. Errors: -ECANCELED the run must stop;
 * those of any rank. */
MUST_CHECK int rounds_next(struct train *train, const struct ring_slot **ret_slot, struct error *err);
/* Returns the batch of empty rows; NULL: nothing is to be done, as in an evaluation. */
const struct model_batch *rounds_empty(const struct train *train);
void rounds_close(struct rounds *rounds);

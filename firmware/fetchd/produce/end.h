/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a segment and the run, with slots of their own kinds that tell the trainer so.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Leaves out, with order.remainder "drop" and several lanes, the rows of each lane that has ended in this
 * batch, unless they are all of its rows of a batch. So it depends on the lane alone, and not on the rank
 * that owns it. With a single lane end_segment() leaves out the last batch. STEP_WAIT_WORK: workers still
 * fill rows. */
enum step end_lanes(struct producer *producer);

/* One step towards the end of the segment: seals the last, smaller batch, which lies in the open slot; when
 * called again, claims END_SEGMENT, with the start of the next segment as its cursor. A segment without rows
 * ends the generation with an ERROR where it would make the run's figures meaningless. */
enum step end_segment(struct producer *producer);

/* Claims END_RUN and closes the generation. */
enum step end_run(struct producer *producer);

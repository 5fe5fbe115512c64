/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a segment and the run, with slots of their own kinds that tell the trainer so.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* One step towards the end of the segment: seals the last, smaller batch, which lies in the open slot; when
 * called again, claims END_SEGMENT, with the start of the next segment as its cursor. A segment without rows
 * ends the generation with an ERROR where it would make the run's figures meaningless. */
enum step end_segment(struct producer *producer);

/* Claims END_RUN and closes the generation. */
enum step end_run(struct producer *producer);

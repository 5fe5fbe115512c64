/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a cursor stands in its segment, and what comes after it: arithmetic on plan, cursor and streams. A
 * segment is an epoch of training, a validation, or the test.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Checks that a cursor is a position in the plan, and is this rank's. Errors: -EBADMSG naming what the
 * trainer asks for. */
MUST_CHECK int segment_check(const struct fetch *fetch, const struct cursor *cursor, struct error *err);

/* Whether, in training, a lane of this rank (0 ..) has no more rows: the first source's pass decides. */
bool segment_lane_is_over(const struct producer *producer, uint32_t own);

/* Whether no further row belongs to the cursor's segment. Moves the cursor past sources without rows. */
bool segment_is_over(struct producer *producer);

/* Returns the stream that gives the next row of an evaluation for a lane of this rank (0 ..); NULL = none.
 * Moves the cursor past sources without rows. */
struct stream *segment_evaluated(struct producer *producer, uint32_t own);

/* Returns the start of the segment after the cursor's. The passes of sources other than the first go on. */
struct cursor segment_next(const struct producer *producer);

/* Sets pass_over for the segment at the cursor. */
void segment_begin(struct producer *producer);

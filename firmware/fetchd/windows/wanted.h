/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which windows a stream needs at a cursor: pure functions of the plan and the cursor.
 *
 * The first wanted window is the one that gives rows now, or will next. The second is the window after it, of
 * whatever segment, so that the end of a segment costs no wait. Further windows are of the same pass only:
 * the next pass begins with shards that this pass may still have to write into the cache.
 */
#pragma once

#include "fetchd/windows/stream.h"

struct wanted {
	struct window_id id[1 + AHEAD_MAX]; /* most urgent first */
	unsigned count;
	bool in_use; /* rows are taken from id[0] now, not only later in the segment or after it */
};

/* Computes the wanted windows; `ahead`: upper bound of windows after the first. Of id[], only [0 .. count) is
 * written, as the function runs at each step of the producer. */
void windows_wanted(const struct plan *plan, const struct cursor *cursor, const struct stream *stream,
		    uint32_t ahead, struct wanted *ret_wanted);

/* Tells whether the stream needs no window after the wanted ones until the end of the run. False in training
 * of a source other than the first: how many passes it makes is not known. */
bool windows_are_last(const struct plan *plan, const struct cursor *cursor, const struct stream *stream,
		      const struct wanted *wanted);

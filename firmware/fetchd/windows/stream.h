/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: one lane of one source, and the windows of it that are in memory: the window in use, which gives
 * rows now, and the windows read ahead.
 *
 * Why read ahead, and how far: a window can only be permuted when all of its shards have arrived, so the next
 * window must load while this one gives rows. One window ahead is enough while a window takes longer to train
 * on than to load. When the trainer waits for windows to arrive, tune.h doubles windows->ahead, up to what
 * the memory holds without the disk: more windows mean more requests at once, which a store with long latency
 * needs.
 *
 * Why windows that do not fit spill to disk instead of failing: the sizes of inflated shards are not known
 * beforehand, and a night must not end at the first window that two large shards share. When the disk is full
 * too, the window in use is loaded alone and nothing is read ahead.
 *
 * All functions are called with fetch->lock held, by the producer.
 */
#pragma once

#include "fetchd/windows/window.h"

struct stream {
	uint32_t source, lane;
	uint32_t place;                   /* the stream's place in the cursor is cursor.place[place] */
	uint64_t pass_windows[SPLIT_MAX]; /* windows of a pass over a split */
	bool gave_rows;                   /* in this pass, as far as this process knows */
	bool expects;                     /* the windows that may be read ahead later have their memory */
	uint32_t windows;                 /* window[0 .. windows) may hold something */
	struct window window[1 + AHEAD_MAX];
};

struct streams {
	struct stream stream[CURSOR_PLACES_MAX]; /* of this rank's lanes, by source, then lane */
	uint32_t count, lanes;                   /* lanes: this rank's */
};

/* Makes the streams of this rank's lanes. */
void streams_make(struct fetch *fetch);

/* Starts to load the window that each stream needs at this cursor, and those ahead of it. Frees windows that
 * are too many. Called at each step of the producer. Errors: -ENOMEM. */
MUST_CHECK int streams_load(struct fetch *fetch, const struct cursor *cursor, struct error *err);

/* Returns the stream's window of this id; NULL = the window is neither loaded nor loading. */
struct window *stream_window(struct stream *stream, struct window_id id);

/* Whether any window is loading. */
bool streams_are_loading(const struct streams *streams);
/* Forgets all windows, before another generation; no window may be loading or have spans. */
void streams_forget(struct streams *streams);

/* Whether all windows that the run needs from this cursor on have arrived, so that nothing is left to load.
 */
bool streams_have_all(const struct fetch *fetch, const struct cursor *cursor);

/* Returns the upper bound of windows->ahead: what the memory holds without the disk; AHEAD_LEAST while the
 * size of a window is not known. *ret_reason says what sets the bound. */
uint32_t streams_ahead_max(const struct fetch *fetch, const char **ret_reason);

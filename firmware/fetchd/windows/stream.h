/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: one lane of one source, and its windows in memory: the one that rows are taken from, and those
 * read ahead of it.
 *
 * Why read ahead, and how far: a window can only be permuted when all of it has arrived, so the next window
 * must load while rows are taken from this one. One window ahead is enough while a window takes longer to
 * train on than to load. When the trainer waits for windows to arrive, run.c doubles windows->ahead (tune.h),
 * up to what the memory holds without the disk: a store with long answers gets more requests at once.
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
	uint32_t place;                   /* its place in the cursor: cursor.place[place] */
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

/* The streams of this rank. */
void streams_make(struct fetch *fetch);

/* Start to load what each stream needs at this cursor, and ahead of it as far as the memory goes. Gives back
 * windows that are too many. Errors: -ENOMEM. */
MUST_CHECK int streams_load(struct fetch *fetch, const struct cursor *cursor, struct error *err);

/* The stream's window of this id; NULL = it is not loaded and does not load. */
struct window *stream_window(struct stream *stream, struct window_id id);

/* Some window loads. */
bool streams_are_loading(const struct streams *streams);
/* Forget all windows, for another generation; no window may load or have spans. */
void streams_forget(struct streams *streams);

/* Upper bound of windows->ahead: what the memory holds without the disk; AHEAD_LEAST while the size of a
 * window is not known. *ret_reason says what bounds it. */
uint32_t streams_ahead_max(const struct fetch *fetch, const char **ret_reason);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window: consecutive shards of one lane of one source in one pass, in memory together, so that their
 * records can be permuted together (data/order.h).
 *
 *     WINDOW_IDLE --window_load()--> WINDOW_LOADING --last shard settled--> WINDOW_READY
 *          ^                              ^                                      |
 *          |                              '------------ window_load_rest() ------+
 *          '--------------------------- window_drop(), or a new generation -----'
 *
 * A window is ready when each of its shards is indexed or has failed. Workers then copy rows out of it by
 * spans; while window->spans > 0 it must not be loaded anew.
 *
 * Two kinds of failure are not final, and window_load*() is called once more (stream.c):
 *   - the disk was full when the window had to spill: it may fit alone, without the windows ahead of it;
 *   - a window that nobody needed yet failed on a passing error: the error may be over when it is needed.
 *
 * An eager window gives rows before it is ready. With order.mode "fast" a window of training is eager: shards
 * that have arrived give rows, and window->arrival_order lists them. In a plan of objects each window is
 * eager, and the order stays: objects give rows as soon as they and all objects before them have arrived. The
 * first object that failed ends the rows.
 *
 * A crash loses all windows; the cursor says which ones are loaded again.
 *
 * All functions are called with fetch->lock held. No function blocks.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/ahead.h"
#include "fetchd/shared/fetch.h"

enum window_state { WINDOW_IDLE, WINDOW_LOADING, WINDOW_READY };

/* One window of one pass over a split of the stream's source. An evaluation has one pass, 0. */
struct window_id {
	enum split split;
	uint64_t pass, window;
};

struct window {
	uint32_t source, lane; /* the stream's */
	enum window_state state;
	struct window_id id;
	struct group group;
	struct shard *shard;      /* group.shards of them in use */
	struct buffer shared;     /* the stored bytes of small objects (shared.h) */
	uint64_t loading;         /* shards not settled yet */
	const struct shard *last; /* the shard that was settled last */
	/* Shards whose records can be gathered, and the index in the window of each one's first record: all
	 * shards at once, or those of an eager window in the order of their arrival; objects in their order.
	 */
	uint32_t *arrival_order;
	uint64_t *first;
	uint32_t arrived;
	uint64_t records;
	const struct shard *failed; /* the first failure of an eager window that is loading; NULL = none */
	uint64_t lost;              /* number of shards whose rest is left out */
	uint64_t spans;             /* spans handed out and not finished */
	bool eager;                 /* gives rows before it is ready */
	bool in_order;              /* an eager window of objects: their order stays */
	bool alone;                 /* loaded once more, after the stream's other windows were dropped */
	bool ahead;                 /* not needed yet when it was loaded */
};

/* Starts to load a window. A full disk is the window's failure, not an error. Errors: -ENOMEM. */
MUST_CHECK int window_load(struct fetch *fetch, struct window *window, struct window_id id,
			   struct error *err);

/* Loads the shards of an eager window that have not arrived; rows of the others may be in the ring already.
 * Errors: -ENOMEM. */
MUST_CHECK int window_load_rest(struct window *window, struct error *err);

/* Allocates memory for a window that may be loaded later, for shards as large as those of `like`, outside the
 * account. Errors: -ENOMEM. */
MUST_CHECK int window_expect(struct fetch *fetch, struct window *window, const struct window *like,
			     struct error *err);

/* Frees the window's memory; the window is idle. */
void window_drop(const struct fetch *fetch, struct window *window);

/* Notes that a shard is indexed, or has failed with shard->err. A worker calls. Signals fetch->progress when
 * the producer can go on. */
void window_settle(struct fetch *fetch, struct shard *shard);

/* Whether the window failed for lack of disk, and was not loaded alone yet. */
bool window_lacks_disk(const struct window *window);
/* Whether the window failed while it was read ahead, on an error that may pass. */
bool window_failed_ahead(const struct window *window);
/* Whether the window is ready, and not to be loaded once more. */
bool window_is_whole(const struct window *window);
/* Whether the window has rows from `offset` on that can be given although a shard failed. */
bool window_has_rows(const struct window *window, uint64_t offset);
/* Whether all of the window's records can be gathered. */
bool window_is_complete(const struct window *window);

/* Returns the first shard that failed, or a shard that was given up if no other failed; NULL = none. While
 * the window is loading: the first failure to arrive. */
const struct shard *window_failure(const struct window *window);
/* Returns window_failure(), or NULL where the window is to be loaded once more. */
const struct shard *window_final_failure(const struct window *window);

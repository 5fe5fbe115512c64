/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-oneshot preload: what the next run of kiln.conf reads, and what is pinned in its sources, from the
 * store into the cache. preload.c decides what, preload_room.c makes room for it, preload_fetch.c brings it,
 * and preload_note.c says how it goes.
 */
#pragma once

#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"
#include "oneshot/oneshot.h"

/* ---- How it goes: preload.json, drivers/cache/cache.h ---- */

struct progress {
	uint64_t objects, bytes;         /* that there are */
	uint64_t done, bytes_done;       /* of them, in the cache by now */
	uint64_t fetched, bytes_fetched; /* of these, from the store */
	uint64_t left_out, failed;       /* no room; not to be had */
	uint64_t started_us;             /* Unix time */
	uint64_t noted_us;
};

/* Written at once, or that it is running, now and then; what cannot be written is warned of. */
void progress_note(struct progress *progress, const char *state, const char *text);
void progress_note_now_and_then(struct progress *progress);
/* And to the log. */
void progress_note_finished(struct progress *progress);

/* ---- Room in the cache ---- */

struct room {
	const struct config *config;
	struct cache *cache;
	struct cache_pins pins;
	struct cache_list list; /* of what it holds, from room_look() on */
	uint64_t coming;        /* bytes on their way, not in the list */
	int64_t started_s;      /* what was used since is wanted by this very preload */
};

/* The first source whose store a pin lies in; NULL: none's. */
const struct config_source *room_source_of(const struct room *room, const struct cache_pin *pin);
MUST_CHECK int room_look(struct room *room, struct error *err);
/* For an object: of what nobody wants now, the longest unused goes first. */
MUST_CHECK int room_make(struct room *room, uint64_t bytes, bool *ret_room, struct error *err);
/* It came. */
MUST_CHECK int room_add(struct room *room, const struct cache_object *object, struct error *err);

/* ---- From the store ---- */

struct fetcher;

/* One store's objects, several ranges of them at once, whole into the cache in the order they were
 * asked for; one thread. */
MUST_CHECK int fetcher_open(const struct config *config, const struct config_store *where,
			    const struct cache *cache, struct fetcher **ret_fetcher, struct error *err);
/* Gives up what is on its way; accepts one of NULL. */
void fetcher_closep(struct fetcher **fetcher);

/* Ask for one; waits while there is no room for a range, and calls `each` for those that are over meanwhile:
 * `r` 0 or what went wrong with it. What `each` returns besides 0 is returned. */
typedef int fetched_fn(void *context, const struct cache_object *object, int r, const struct error *err);
MUST_CHECK int fetcher_add(struct fetcher *fetcher, const char *key, const struct store_pin *pin,
			   fetched_fn *each, void *context, struct error *err);
/* Until all are over. */
MUST_CHECK int fetcher_finish(struct fetcher *fetcher, fetched_fn *each, void *context, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listing of a cache in memory, and eviction by it. With the listing a caller need not read the folder
 * before it adds each file. The listing may be out of date, because other processes add and remove files;
 * cache_list_is_stale() tells when to read the folder again.
 *
 * Eviction: the caller ranks every file, for instance by the time until its next use; the highest rank goes
 * first. A negative rank and the tag CACHE_PINNED protect a file.
 *
 * Threads: one caller at a time. Order: cache_list_read* -> cache_list_add, cache_list_evict ->
 * cache_list_done.
 */
#pragma once

#include "drivers/cache/cache.h"

struct cache_held {
	char name[CACHE_NAME_BYTES];
	uint64_t bytes;
	int64_t used_s; /* Unix time */
	uint64_t tag;   /* the caller's own value for this file */
	double rank;    /* rank that the caller gave in the last cache_list_evict() */
};

struct cache_list {
	struct cache_held *item;
	size_t count, capacity;
	uint64_t bytes;
	uint64_t mark;             /* cache_mark() at the last reading of the folder */
	uint64_t read_us, cost_us; /* clock_us() at the end of the last reading, and how long it took */
};

/* Allocates memory for `files` files. Errors: -ENOMEM. */
MUST_CHECK int cache_list_reserve(struct cache_list *list, size_t files, struct error *err);
#define CACHE_PINNED UINT64_MAX
/* Reads the folder again; `tag` returns the tag of a file, CACHE_PINNED for one that is never evicted. */
MUST_CHECK int cache_list_read(struct cache_list *list, const struct cache *cache,
			       uint64_t (*tag)(void *context, const struct cache_item *item), void *context,
			       struct error *err);
/* Returns whether another process has changed the folder since the last reading. Returns false for a while
 * after a reading, so that a folder that changes all the time is not read all the time. */
bool cache_list_is_stale(const struct cache_list *list, const struct cache *cache);
/* Tells the other processes to read the folder again. To be called after this process changed both the folder
 * and the list. */
void cache_list_changed(struct cache_list *list, const struct cache *cache);
/* Adds a file that was just committed. Errors: -ENOMEM. */
MUST_CHECK int cache_list_add(struct cache_list *list, const char name[static CACHE_NAME_BYTES],
			      uint64_t bytes, uint64_t tag, struct error *err);
void cache_list_done(struct cache_list *list);

/* Removes files, the highest rank first, until `most` bytes are freed. Removes nothing where all the files
 * that may be removed have fewer than `least` bytes. A file with a rank below 0 is never removed. Returns the
 * bytes removed. */
uint64_t cache_list_evict(struct cache_list *list, const struct cache *cache, uint64_t least, uint64_t most,
			  double (*rank)(void *context, const struct cache_held *held), void *context);

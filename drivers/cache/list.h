/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process knows to lie in a cache, so that it need not look before each file, and eviction from it. It
 * may be wrong, as others add and remove: the files are right, and cache_mark() tells when to look again.
 * One thread. Order: cache_list_read* -> cache_list_add, cache_list_evict -> cache_list_done.
 */
#pragma once

#include "drivers/cache/cache.h"

struct cache_held {
	char name[CACHE_NAME_BYTES];
	uint64_t bytes;
	int64_t used_s; /* Unix time */
	uint64_t tag;   /* the caller's */
	double rank;
};

struct cache_list {
	struct cache_held *item;
	size_t count, capacity;
	uint64_t bytes;
	uint64_t mark, read_us, cost_us; /* of the folder when it was read; when that was; how long it took */
};

/* Room for so many files, which are not there yet. Errors: -ENOMEM. */
MUST_CHECK int cache_list_reserve(struct cache_list *list, size_t files, struct error *err);
/* Read the folder anew; `tag` says what the caller wants to remember of each, CACHE_PINNED that it is never
 * evicted. */
#define CACHE_PINNED UINT64_MAX
MUST_CHECK int cache_list_read(struct cache_list *list, const struct cache *cache,
			       uint64_t (*tag)(void *context, const struct cache_item *item), void *context,
			       struct error *err);
/* Others changed the folder since, and reading it again now would not be most of what is done. */
bool cache_list_is_stale(const struct cache_list *list, const struct cache *cache);
/* We changed the folder, and the list with it: tell the others. */
void cache_list_changed(struct cache_list *list, const struct cache *cache);
/* One that was just committed. Errors: -ENOMEM. */
MUST_CHECK int cache_list_add(struct cache_list *list, const char name[static CACHE_NAME_BYTES],
			      uint64_t bytes, uint64_t tag, struct error *err);
void cache_list_done(struct cache_list *list);

/* Remove files, the highest rank first, until `most` bytes are free; nothing at all where not even `least`
 * can be. A rank below 0 stays. Returns the bytes removed. */
uint64_t cache_list_evict(struct cache_list *list, const struct cache *cache, uint64_t least, uint64_t most,
			  double (*rank)(void *context, const struct cache_held *held), void *context);

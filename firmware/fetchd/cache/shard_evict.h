/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of the cache: finds out which file is which shard of the plan, and evicts files for another
 * shard.
 *
 * Why by the next use: the run's order is known (data/next_use.h), so the cache can evict the shard that the
 * run reads last, as the optimal policy of Belady does. A cache that evicts the least recently used file
 * would be useless here: a pass reads every shard once, so with a cache smaller than the data set each file
 * would be evicted shortly before it is read again.
 *
 * Order of eviction: files that the run does not read any more come first, the longest unused before the
 * others; then shards by their next use, the latest first. A shard that is read sooner than the new one is
 * never evicted for it, and neither is a pinned file, unless it is an old version of its object.
 *
 * Belongs to one thread, the writer's or the copy's (prefetch/copy.h); called without the lock. Blocks: on
 * the disk.
 */
#pragma once

#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"
#include "fetchd/shared/fetch.h"

struct shard_evictor {
	struct fetch *fetch;
	struct cache *folder;
	struct cache_list list;
	struct cache_pins pins;
	struct cursor cursor;  /* a copy of fetch->cursor, of the last eviction ... */
	uint32_t windows_held; /* ... and windows of a stream that were read or about to be read then */
	double rank_below;     /* evict only files of a higher rank */
	bool unread;           /* the run has not begun: a new shard is still to be read */
};

/* Reads the folder and the pins, the first time and when another process has changed them. */
MUST_CHECK int evict_reread(struct shard_evictor *evictor, bool first, struct error *err);

/* Returns the tag that the list stores with a file: which shard of the plan it is, CACHE_PINNED, or no shard.
 * The context is the evictor. */
uint64_t evict_tag(void *context, const struct cache_item *item);

/* Frees the space for a shard of so many bytes that was just read, or with `unread` is read later, by
 * evicting files that the run reads after it. False: there are no such files, or the shard is larger than the
 * cache. */
MUST_CHECK bool evict_for(struct shard_evictor *evictor, uint64_t bytes, uint64_t tag);

/* Evicts files until the cache fits its budget and the disk's free space: checkpoints come first on a disk.
 */
void evict_excess(struct shard_evictor *evictor);

/* Frees about so many bytes, of any file that is not pinned, when the disk is fuller than it said. False:
 * there is nothing to evict. */
bool evict_any(struct shard_evictor *evictor, uint64_t bytes);

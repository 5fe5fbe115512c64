/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of the cache: which file is which shard of the plan, and what is evicted for another shard.
 *
 * Why by the next use: the run's order is known (data/next_use.h), so the cache evicts what the run reads
 * last, as the optimal policy of Belady does, and never what the run reads sooner than the new shard. Files
 * that the run does not need come first, the longest unused before the others; pinned files are never
 * evicted.
 *
 * Belongs to the writer's thread; called without the lock. Blocks: on the disk.
 */
#pragma once

#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"
#include "fetchd/fetch.h"

struct shard_evictor {
	struct fetch *fetch;
	struct cache *folder;
	struct cache_list list;
	struct cache_pins pins;
	struct cursor cursor;  /* a copy of fetch->cursor, of the last eviction ... */
	uint32_t windows_held; /* ... and windows of a stream that were read or about to be read then */
	double rank_below;     /* evict only what ranks above this */
};

/* Read the folder and the pins: the first time, and when another process changed them. */
MUST_CHECK int evict_reread(struct shard_evictor *evictor, bool first, struct error *err);

/* The tag that the list stores with a file: which shard of the plan it is, CACHE_PINNED, or no shard. The
 * context is the evictor. */
uint64_t evict_tag(void *context, const struct cache_item *item);

/* Free the space for a shard of so many bytes that was just read, by evicting what the run reads later than
 * it reads this shard again. False: not worth it, or larger than the cache. */
MUST_CHECK bool evict_for(struct shard_evictor *evictor, uint64_t bytes, uint64_t tag);

/* Evict what exceeds the cache's budget, or the disk's free space: checkpoints have the disk first. */
void evict_excess(struct shard_evictor *evictor);

/* The disk was fuller than it said: free about so many bytes, whatever it is. False: nothing to evict. */
bool evict_any(struct shard_evictor *evictor, uint64_t bytes);

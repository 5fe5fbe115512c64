/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetchd's use of the disk cache (drivers/cache). The cache is a help and never a condition: a fault of the
 * cache is a warning, and the run goes on with the network alone.
 *
 * Threads: the reader (shard_reader.h) looks shards up and reads their files; the writer (shard_writer.h)
 * writes shards that came over the network, and evicts (shard_evict.h). Both pass shards by queues under
 * fetch->lock and are without the lock while they use the disk. Owns: the reader owns a shard between
 * reader_look_up() and the next queue; the writer borrows a shard's buffer from the window, or exchanges it
 * for a spare one. Crash: a file is in the cache when it is complete and renamed. A file that was damaged
 * afterwards is found by checksums, removed, and its shard fetched again.
 *
 * Order: shard_cache_begin -> shard_cache_start -> ... -> shard_cache_end.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/cache/shard_claims.h"
#include "fetchd/cache/shard_reader.h"
#include "fetchd/cache/shard_writer.h"

struct shard_cache {
	struct cache *folder;
	struct shard_claims claims;
	struct shard_reader reader;
	struct shard_writer writer;
};

/* Opens the configured cache as fetch->cache, if there is one; sets the budget's free_disk(). */
void shard_cache_begin(struct fetch *fetch);
/* Starts the threads. Errors: -EAGAIN. */
MUST_CHECK int shard_cache_start(struct fetch *fetch, struct error *err);
/* Waits at most 10 s for shards that are still to be written. */
void shard_cache_end(struct fetch *fetch);
/* Figures for the status page. */
void shard_cache_count(const struct fetch *fetch, struct status_fetchd *status);

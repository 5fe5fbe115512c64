/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetchd's use of the disk cache (drivers/cache): a reader thread, a writer thread that evicts, and what both
 * need. A cache is a help and never a condition: what is wrong with it is a warning, and the run goes on.
 *
 * Order: shard_cache_begin -> shard_cache_start -> ... -> shard_cache_end.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/cache/shard_reader.h"
#include "fetchd/cache/shard_writer.h"

struct shard_cache {
	struct cache *folder;
	struct shard_reader reader;
	struct shard_writer writer;
};

/* Opens the configured cache as fetch->cache, if there is one; sets the budget's free_disk(). */
void shard_cache_begin(struct fetch *fetch);
/* Starts the threads. Errors: -EAGAIN. */
MUST_CHECK int shard_cache_start(struct fetch *fetch, struct error *err);
/* Waits a little for what is still to be written. */
void shard_cache_end(struct fetch *fetch);
/* Figures for the status page. */
void shard_cache_count(const struct fetch *fetch, struct status_fetchd *status);

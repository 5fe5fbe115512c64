/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that looks shards up in the disk cache, before a request goes to their source. A thread of its
 * own, so that neither the network nor the workers wait for the disk.
 *
 * A shard that the cache has is read in one of two ways:
 *   - past the kernel's page cache, into the shard's own buffer: saves a copy, and leaves the page cache's
 *     memory to the windows;
 *   - mapped, where the shard is small or the page cache has it already: the workers read the mapping.
 * A shard that another process fetches waits for that: shard_claims.h.
 * Damage is found by the records' checksums or, in a compressed shard, by the file's checksum. A file that
 * cannot be read is removed, and the shard is fetched from its source.
 */
#pragma once

#include "fetchd/cache/shard_writer.h"

struct shard_reader {
	struct fetch *fetch;
	struct cache *folder;
	struct shard_writer *writer;
	pthread_cond_t wake;
	struct queue to_read; /* guarded by fetch->lock */
	struct queue waiting; /* for another process to fetch them; the thread's alone */
	bool fits; /* the page cache can hold all data of the run, in memory that no window needs */
	atomic_uint_fast64_t hits, misses, bytes;
};

void reader_begin(struct shard_reader *reader, struct fetch *fetch, struct cache *folder,
		  struct shard_writer *writer);
void *reader_thread(void *reader);

/* Queues a shard to be looked up. It goes on to the workers or, where the cache lacks it, to its source. The
 * lock is held. */
void reader_look_up(struct shard_reader *reader, struct shard *shard);

/* Whether the shard's bytes have the checksum of its file in the cache; true for a shard without a file. */
bool reader_file_is_sound(const struct shard *shard);

/* Removes the shard's damaged file. The lock is not held. */
void reader_remove(const struct shard_reader *reader, struct shard *shard);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that looks shards up in the disk cache before their source is asked, so that neither the network
 * nor the decoders wait for the disk.
 *
 * A shard in the cache is read into the shard's own memory, past the kernel's page cache, which saves a copy
 * and leaves that memory to the windows; or, where the page cache has it already or the shard is small, the
 * file is mapped and goes to the decoders as it lies. Damage is found by the records' checksums or, in a
 * compressed shard, by the file's own. A file that cannot be read is removed, and the shard is fetched.
 */
#pragma once

#include "fetchd/cache/shard_writer.h"

struct shard_reader {
	struct fetch *fetch;
	struct cache *folder;
	struct shard_writer *writer;
	pthread_cond_t wake;
	struct queue to_read; /* guarded by fetch->lock */
	bool fits; /* the page cache can hold all that this run reads, in memory that no window needs */
	atomic_uint_fast64_t hits, misses, bytes;
};

void reader_begin(struct shard_reader *reader, struct fetch *fetch, struct cache *folder,
		  struct shard_writer *writer);
void *reader_thread(void *reader);

/* Look a shard up, then send it to the workers or, where the cache lacks it, to its source; the lock is held.
 */
void reader_look_up(struct shard_reader *reader, struct shard *shard);

/* Whether the shard's bytes have the checksum of its file in the cache; true for a shard without a file. */
bool reader_file_is_sound(const struct shard *shard);

/* The shard's file is damaged: remove it. The lock is not held. */
void reader_remove(const struct shard_reader *reader, struct shard *shard);

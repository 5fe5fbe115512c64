/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes shards into the disk cache: those that came over the network and were good.
 *
 * A job takes the shard's bytes from its window's buffer, without a copy. When the window is needed for other
 * shards it does not wait for the disk: the job takes over the buffer (the window gets a spare one) while the
 * backlog has space, else the job is given up. A shard that waits to be written can be read from its job.
 *
 * Fixed sizes: WRITE_JOBS_MAX jobs, fetch.cache_backlog_bytes of buffers taken over; nothing allocates after
 * the start.
 * Crash: a file in the cache appears by rename when it is complete; at its start the thread removes what a
 * killed process left half written.
 */
#pragma once

#include "fetchd/cache/shard_evict.h"
#include "fetchd/shard/shard.h"

#define WRITE_JOBS_MAX 1024u

/* A shard to be written. */
struct write_job {
	struct shard *shard; /* whose window has the bytes; NULL = they are the job's own, or written */
	const uint8_t *data; /* NULL = written */
	struct buffer own;
	uint32_t source;
	const char *key; /* the plan's */
	struct store_pin pin;
	char name[CACHE_NAME_BYTES];
	uint32_t readers; /* copying from it */
	atomic_bool given_up;
	bool busy, written, done; /* the thread works on it; all bytes are in a file; the job is over */
};

/* Guarded by fetch->lock, but for `evictor` and pause_until_us, which belong to the thread. */
struct shard_writer {
	struct fetch *fetch;
	struct cache *folder;
	pthread_cond_t wake, answer;
	struct write_job job[WRITE_JOBS_MAX];
	uint64_t head, at, tail; /* modulo: the next free job, the one in work, the oldest one in use */
	uint64_t backlog_bytes, backlog_max;
	/* Memory for one shard each, allocated at the start: what a window gets for a buffer that a job takes
	 * over. */
	struct buffer spare[WRITE_JOBS_MAX];
	uint32_t spares;
	/* Windows that spill onto a full disk ask for space: how often, how often that was answered, for how
	 * many bytes, and whether the last answer freed any. */
	uint64_t asked, answered, wanted_bytes;
	bool freed;
	atomic_uint_fast64_t written, passed_over;

	struct shard_evictor evictor;
	uint64_t pause_until_us;
};

/* All but the thread. */
void writer_begin(struct shard_writer *writer, struct fetch *fetch, struct cache *folder);
void *writer_thread(void *writer);

/* Write this good shard some time, unless it came from the cache; the lock is held. */
void writer_add(struct shard_writer *writer, struct shard *shard);

/* The window of this group is needed for other shards; the lock is held. False: not yet, fetch->progress is
 * signalled when it is. */
bool writer_releases(struct shard_writer *writer, struct group *group);

/* The job of an object that waits to be written: its bytes are valid until writer_return(). NULL = none. The
 * lock is held in both. */
struct write_job *writer_borrow(struct shard_writer *writer, const char name[static CACHE_NAME_BYTES]);
void writer_return(struct shard_writer *writer, struct write_job *job);

/* A budget's free_disk(): ask the thread to evict, and wait for it. The lock is not held. */
bool writer_free_disk(void *writer, uint64_t bytes);

/* Wait a little for the jobs that are left: the last windows' shards are for the next run. */
void writer_finish(struct shard_writer *writer);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes good shards from the network into the disk cache.
 *
 * A job writes the shard's bytes from its window's buffer, without a copy. The window must not wait for the
 * disk when it is needed for other shards: the job then gets the buffer and the window gets a spare
 * one. When the backlog (fetch.cache_backlog_bytes) has no space, the job is given up: the shard is merely
 * not cached. A shard that waits to be written can be read from its job.
 *
 * Fixed sizes: WRITE_JOBS_MAX jobs, fetch.cache_backlog_bytes of buffers that jobs own; nothing allocates
 * after the start.
 *
 * Crash: a file in the cache appears by rename when it is complete; at its start the thread
 * removes what a killed process left half written.
 */
#pragma once

#include "fetchd/cache/shard_claims.h"
#include "fetchd/cache/shard_evict.h"
#include "fetchd/shard/shard.h"

#define WRITE_JOBS_MAX 1024u

/* A shard to be written. */
struct write_job {
	struct shard *shard; /* the shard whose window has the bytes; NULL = `own` has them, or written */
	const uint8_t *data; /* NULL = written */
	struct buffer own;   /* the window's buffer, which the job owns now */
	uint32_t source;
	const char *key; /* the plan's */
	struct store_pin pin;
	char name[CACHE_NAME_BYTES];
	uint32_t readers; /* threads that copy from the job: writer_borrow() */
	atomic_bool given_up;
	uint64_t claim;           /* the shard's, until the file is there, or none comes */
	bool busy, written, done; /* the thread works on the job; all bytes are in a file; the job is over */
};

/* Guarded by fetch->lock, except `evictor` and pause_until_us, which belong to the thread. */
struct shard_writer {
	struct fetch *fetch;
	struct cache *folder;
	struct shard_claims *claims;
	pthread_cond_t wake, answer;
	struct write_job job[WRITE_JOBS_MAX];
	uint64_t head, at, tail; /* modulo WRITE_JOBS_MAX: next free job, job in work, oldest job in use */
	uint64_t backlog_bytes, backlog_max;
	/* Buffers for one shard each, allocated at the start: a window gets one for each buffer that a job
	 * gets. */
	struct buffer spare[WRITE_JOBS_MAX];
	uint32_t spares;
	/* Windows that spill onto a full disk ask for space: number of requests so far, number of answers,
	 * bytes wanted, and whether the last answer freed any. */
	uint64_t asked, answered, wanted_bytes;
	bool freed;
	atomic_uint_fast64_t written, passed_over;

	struct shard_evictor evictor;
	uint64_t pause_until_us;
};

/* Initialises everything but the thread. */
void writer_begin(struct shard_writer *writer, struct fetch *fetch, struct cache *folder,
		  struct shard_claims *claims);
void *writer_thread(void *writer);

/* Queues a good shard to be written, unless it came from the cache; the lock is held. The job takes the
 * shard's claim. */
void writer_add(struct shard_writer *writer, struct shard *shard);

/* Frees the window of this group for other shards; the lock is held. False: not yet; fetch->progress is
 * signalled when to try again. */
bool writer_releases(struct shard_writer *writer, struct group *group);

/* Borrows the job of an object that waits to be written: its bytes are valid until writer_return(). NULL =
 * there is none. The lock is held in both calls. */
struct write_job *writer_borrow(struct shard_writer *writer, const char name[static CACHE_NAME_BYTES]);
void writer_return(struct shard_writer *writer, struct write_job *job);

/* A budget's free_disk(): asks the thread to evict, and waits for it. The lock is not held. */
bool writer_free_disk(void *writer, uint64_t bytes);

/* Waits at most 10 s for the jobs that are left: shards of the last windows, which the next run may use. */
void writer_finish(struct shard_writer *writer);

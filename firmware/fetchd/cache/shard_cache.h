/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetchd and its cache: two threads, so that neither the network nor the decoders wait for the disk.
 *
 *   reader   cache.c: looks a shard up before its source is asked. What is there is read into the shard's own
 *            memory, past the kernel's; or, where that has it already, mapped and given to the decoders as it
 *            lies. They find damage by the records' checksums, or, where it is compressed, by the file's own.
 *   keeper   keep.c: writes shards that came over the network and were good. It writes from their windows; a
 *            window that is wanted for the next shards does not wait: the keeper takes the bytes over while
 *            its backlog has room, else it gives up. Evicts what the run reads last, keeps the disk from
 *            filling up, and counts anew when other processes changed the folder.
 *
 * The shared members and the jobs are under fetch->lock.
 */
#pragma once

#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"
#include "fetchd/fetch.h"

#define KEEP_JOBS_MAX 1024u

/* A shard to be written. */
struct keep_job {
	struct shard *shard; /* its window has the bytes; NULL = they are the job's own, or written */
	const uint8_t *data; /* NULL = written */
	struct buffer own;
	uint32_t source;
	const char *key; /* the plan's */
	struct store_pin pin;
	char name[CACHE_NAME_BYTES];
	uint32_t readers; /* copying from it */
	atomic_bool given_up;
	bool busy, written, done; /* the keeper is at it; all its bytes are in a file; it is over */
};

struct fetch_cache {
	struct fetch *fetch;
	struct cache *cache;
	pthread_cond_t read, keep, room;
	struct queue to_read;
	bool fits; /* the kernel can keep all that this run reads, in memory that the windows do not need then
		    */
	struct keep_job job[KEEP_JOBS_MAX];
	uint64_t head, at, tail; /* modulo: the next free one, the one in work, the oldest not reaped */
	uint64_t backlog_bytes, backlog_max;
	/* Places for a shard each, made at the start: what a window gets for bytes that a job takes over. */
	struct buffer spare[KEEP_JOBS_MAX];
	uint32_t spares;
	/* For windows that spill onto a full disk: how often it was asked and answered, for how much, and
	 * whether the last answer gave any. */
	uint64_t room_asked, room_answered, room_wanted;
	bool room_given;
	atomic_uint_fast64_t hits, misses, bytes, kept, passed_over;

	/* The keeper's own. */
	struct cache_list list;
	struct cache_pins pins;
	uint64_t pause_until_us;
	struct cursor cursor;  /* where the run stood when it was looked ... */
	uint32_t windows_held; /* ... and how many windows of a stream it had read, or was about to */
	double rank_below;
};

struct cache_object cache_object_of_job(const struct fetch *fetch, uint32_t source, const char *key,
					const struct store_pin *pin, struct cache_strings *room);

/* keep.c */
void *keep_thread(void *cache);
/* The bytes of an object that waits to be written: held until keep_put_back(). NULL: there is none. The lock
 * is held in both. */
struct keep_job *keep_borrow(struct fetch_cache *cache, const char name[static CACHE_NAME_BYTES]);
void keep_put_back(struct fetch_cache *cache, struct keep_job *job);

/* A budget's make_room(); the lock is not held. */
bool keep_make_room(void *cache, uint64_t bytes);

/* room.c: the keeper's thread, without the lock. */
/* Read the folder and the pins, the first time or where others changed them. */
MUST_CHECK int room_reread(struct fetch_cache *cache, bool first, struct error *err);
/* What the list remembers of a file; the context is the cache. */
uint64_t room_place(void *context, const struct cache_item *item);
/* True: there is room for so many bytes that were just read, made of what comes later than they come again.
 */
MUST_CHECK bool room_make(struct fetch_cache *cache, uint64_t bytes, uint64_t place);
/* The disk is for checkpoints first, and others fill the cache, too. */
void room_shrink(struct fetch_cache *cache);
/* The disk had less room than it said: make about so much. False: there was nothing to remove. */
bool room_give_up(struct fetch_cache *cache, uint64_t bytes);

/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/cache/shard_reader.h"

#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/hugepage/hugepage.h"
#include "drivers/notify/alive.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/cache/shard_object.h"
#include "fetchd/shard/sources.h"
#include "fetchd/shard/work.h"

#include <inttypes.h>
#include <string.h>

/* Shards that are looked up before the first of them is read: the disk reads their beginnings meanwhile. */
#define READ_BATCH 16u
/* The kernel reads ahead at most one request of its block device per call (force_page_cache_readahead). */
#define READ_STEP_BYTES  (UINT64_C(1) << 20)
#define READ_AHEAD_BYTES (UINT64_C(32) << 20)
/* Direct reads, past the page cache: so many bytes at a time fill a disk's queue. Smaller shards go through
 * the page cache, where the reads of several shards overlap. */
#define DIRECT_STEP_BYTES  (UINT64_C(8) << 20)
#define DIRECT_LEAST_BYTES HUGEPAGE_BYTES
#define READ_LEASE_S       900u

static bool given_up(struct fetch *fetch)
{
	bool discard;

	(void)pthread_mutex_lock(&fetch->lock);
	discard = fetch->discard;
	(void)pthread_mutex_unlock(&fetch->lock);
	return discard;
}

static void read_ahead(const struct cache_view *view, uint64_t offset, uint64_t bytes)
{
	for (uint64_t end = offset + bytes; offset < end && offset < view->bytes; offset += READ_STEP_BYTES)
		cache_read_ahead(view, offset, READ_STEP_BYTES);
}

/* Reads through the page cache: waits for each step while the disk reads ahead. */
static int read_in(struct fetch *fetch, struct shard *shard, struct error *err)
{
	for (uint64_t at = 0; at < shard->view.bytes; at += READ_STEP_BYTES) {
		int r;

		if (given_up(fetch))
			return error_set(err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
		read_ahead(&shard->view, at + READ_AHEAD_BYTES, READ_STEP_BYTES);
		r = cache_read(&shard->view, at, READ_STEP_BYTES, err);
		if (r < 0)
			return r;
	}
	shard->stored = shard->view.data;
	return 0;
}

/* Reads into the shard's own buffer, past the page cache. */
static int read_direct(struct fetch *fetch, struct shard *shard, struct error *err)
{
	for (uint64_t at = 0; at < shard->view.bytes; at += DIRECT_STEP_BYTES) {
		int r;

		if (given_up(fetch))
			return error_set(err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
		r = cache_read_direct(&shard->view, at, DIRECT_STEP_BYTES, shard_memory(shard) + at, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether to read past the page cache; the shard then has its buffer. The page cache costs a copy,
 * and seldom has a shard until the next pass, as its memory is about as large as the windows. So only
 * small shards, shards that it has already, and data sets that fit it go through it. */
static bool goes_direct(const struct shard_reader *reader, struct shard *shard)
{
	struct error err;

	return !reader->fits && shard->view.bytes >= DIRECT_LEAST_BYTES && !cache_is_resident(&shard->view) &&
	       shard_reserve(shard, &err) == 0 && !shard->raw.spilled;
}

/* The cache lacks the shard: send it to its source. */
static void missed(struct shard_reader *reader, struct shard *shard)
{
	struct error err = { 0 };

	shard_leaves(shard, STALL_CACHE);
	atomic_fetch_add(&reader->misses, 1);
	if (shard_reserve(shard, &err) < 0) {
		shard->err = err;
		work_add_shard(reader->fetch, shard);
		return;
	}
	(void)pthread_mutex_lock(&reader->fetch->lock);
	sources_fetch(shard);
	(void)pthread_mutex_unlock(&reader->fetch->lock);
}

/* The shard's bytes are there: send it to the workers. */
static void found(struct shard_reader *reader, struct shard *shard)
{
	shard_leaves(shard, STALL_CACHE);
	shard->cached = true;
	atomic_fetch_add(&reader->hits, 1);
	atomic_fetch_add(&reader->bytes, shard->plan.bytes);
	work_add_shard(reader->fetch, shard);
}

/* Copies a shard from the writer's job, where the shard waits to be written. False: there is no such job. */
static bool copy_unwritten(struct shard_reader *reader, struct shard *shard, const char *name)
{
	struct fetch *fetch = reader->fetch;
	struct write_job *job;
	struct error err;
	bool copied = false;

	(void)pthread_mutex_lock(&fetch->lock);
	job = writer_borrow(reader->writer, name);
	(void)pthread_mutex_unlock(&fetch->lock);
	if (!job)
		return false;
	if (shard_reserve(shard, &err) == 0) {
		memcpy(shard_memory(shard), job->data, shard->plan.bytes);
		copied = true;
	}
	(void)pthread_mutex_lock(&fetch->lock);
	writer_return(reader->writer, job);
	(void)pthread_mutex_unlock(&fetch->lock);
	return copied;
}

/* Maps a shard's file. Returns 1, or 0 where the cache lacks it. */
static int map(const struct shard_reader *reader, struct shard *shard, const struct cache_object *object)
{
	struct error err = { 0 };
	int r = cache_map(reader->folder, object, &shard->view, &err);

	if (r < 0)
		log_warning("%s: %s, fetching it", shard->plan.key, err.text);
	return r == 1;
}

/* Whether a shard may wait for another process. One whose window is given up need not. */
static bool may_wait(struct shard_reader *reader, struct shard *shard)
{
	struct fetch *fetch = reader->fetch;
	const uint64_t now_us = clock_us();
	bool wanted;

	if (!shard->claim_wait_us)
		shard->claim_wait_us = now_us + CLAIM_WAIT_S * UINT64_C(1000000);
	(void)pthread_mutex_lock(&fetch->lock);
	wanted = !fetch->discard && !shard->group->given_up;
	(void)pthread_mutex_unlock(&fetch->lock);
	return wanted && now_us < shard->claim_wait_us;
}

/* Maps a shard's file, or claims the shard. Returns 1; 0 where this process fetches the shard; -EAGAIN where
 * it waits for another one. */
static int map_or_claim(struct shard_reader *reader, struct shard *shard, const struct cache_object *object,
			const char *name)
{
	struct shard_claims *claims = &reader->fetch->cache->claims;

	if (map(reader, shard, object))
		return 1;
	switch (claims_take(claims, name, &shard->claim)) {
	case CLAIM_MINE:
		/* The process that had the claim may have written the file meanwhile. */
		if (!map(reader, shard, object))
			return 0;
		claims_end(claims, &shard->claim);
		return 1;
	case CLAIM_ANOTHERS:
		return may_wait(reader, shard) ? -EAGAIN : 0;
	default:
		return 0;
	}
}

/* Looks one shard up. Returns 1: the file is mapped, and the disk reads its beginning; 0: the shard went to
 * the workers or to its source; -EAGAIN: it has to wait. */
static int look_up(struct shard_reader *reader, struct shard *shard)
{
	char name[CACHE_NAME_BYTES];
	struct cache_strings strings;
	struct cache_object object = object_of_shard(shard, &strings);
	int r;

	cache_name(&object, name);
	if (copy_unwritten(reader, shard, name)) {
		found(reader, shard);
		return 0;
	}
	if ((r = map_or_claim(reader, shard, &object, name)) == 0)
		missed(reader, shard);
	/* A file that is used as it is mapped needs no buffer of the shard. */
	if (r != 1 || goes_direct(reader, shard))
		return r;
	shard_release(shard);
	read_ahead(&shard->view, 0, READ_AHEAD_BYTES);
	return r;
}

/* Removes a file that cannot be read; the shard is then fetched and cached anew. The new file gets other
 * blocks of the disk, or writing fails and the writer pauses. A file that stays could hold the run up for
 * minutes at every pass. */
static void drop_unreadable(struct shard_reader *reader, struct shard *shard, const struct error *err)
{
	struct cache_strings strings;
	struct cache_object object = object_of_shard(shard, &strings);
	char name[CACHE_NAME_BYTES];

	cache_name(&object, name);
	event_send(
		&(struct event){ .id = EVENT_SHARD_REFETCHED,
				 .run_id = reader->fetch->run.id,
				 .key = shard->plan.key },
		"the cache's copy of %s, %s/objects/%.2s/%s: %s; removing it, fetching the shard once more",
		shard->plan.key, cache_folder(reader->folder), name, name, err->text);
	reader_remove(reader, shard);
}

static void read_one(struct shard_reader *reader, struct shard *shard)
{
	struct error err = { 0 };
	int r = shard->stored ? read_direct(reader->fetch, shard, &err) : -EINVAL;

	if (r == -EINVAL) {
		shard_release(shard);
		r = read_in(reader->fetch, shard, &err);
	}
	cache_view_close(&shard->view);
	if (r == 0) {
		found(reader, shard);
	} else if (r == -ECANCELED) {
		shard->err = err;
		work_add_shard(reader->fetch, shard);
	} else {
		drop_unreadable(reader, shard, &err);
		missed(reader, shard);
	}
}

/* Looks again at the shards that wait for another process, the oldest first, until many in a row still wait:
 * the other process fetches them in about this order. */
static void look_again(struct shard_reader *reader)
{
	struct queue still = { 0 };
	struct shard *shard;
	unsigned waits = 0;

	while (waits < READ_BATCH && (shard = queue_pop(&reader->waiting))) {
		const int r = look_up(reader, shard);

		if (r == 1)
			read_one(reader, shard);
		else if (r < 0)
			queue_append(&still, shard);
		waits = r < 0 ? waits + 1 : 0;
	}
	while ((shard = queue_pop(&reader->waiting)))
		queue_append(&still, shard);
	reader->waiting = still;
}

/* Waits for shards; pops at most READ_BATCH of them. Returns with none after CLAIM_LOOK_MS where shards wait
 * for another process. */
static unsigned pop_batch(struct shard_reader *reader, struct shard *batch[static READ_BATCH],
			  struct alive_worker *worker)
{
	struct fetch *fetch = reader->fetch;
	unsigned count = 0;

	(void)pthread_mutex_lock(&fetch->lock);
	if (!reader->to_read.first && reader->waiting.first)
		fetch_wait(fetch, &reader->wake, CLAIM_LOOK_MS);
	while (!reader->to_read.first && !reader->waiting.first) {
		fetch_wait(fetch, &reader->wake, IDLE_MS);
		alive_tick(worker);
	}
	while (count < READ_BATCH && (batch[count] = queue_pop(&reader->to_read)))
		count++;
	(void)pthread_mutex_unlock(&fetch->lock);
	return count;
}

void *reader_thread(void *argument)
{
	struct shard_reader *reader = argument;
	struct alive_worker *worker = alive_worker("the cache's reader");

	cores_pin(&reader->fetch->cores.decode);
	for (;; alive_lease_end(worker)) {
		struct shard *batch[READ_BATCH], *there[READ_BATCH];
		unsigned count = pop_batch(reader, batch, worker), hits = 0;

		alive_lease(worker, NULL, READ_LEASE_S);
		for (unsigned i = 0; i < count; i++) {
			cache_view_done(&batch[i]->view);
			const int r = look_up(reader, batch[i]);

			if (r == 1)
				there[hits++] = batch[i];
			else if (r < 0)
				queue_append(&reader->waiting, batch[i]);
		}
		for (unsigned i = 0; i < hits; i++)
			read_one(reader, there[i]);
		look_again(reader);
	}
	return NULL;
}

/* ---- Interface ---- */

void reader_begin(struct shard_reader *reader, struct fetch *fetch, struct cache *folder,
		  struct shard_writer *writer)
{
	reader->fetch = fetch;
	reader->folder = folder;
	reader->writer = writer;
	reader->fits = fetch->extent.bytes <= fetch->budget.max / 2;
	(void)pthread_cond_init(&reader->wake, NULL);
}

void reader_look_up(struct shard_reader *reader, struct shard *shard)
{
	queue_append(&reader->to_read, shard);
	(void)pthread_cond_signal(&reader->wake);
}

bool reader_file_is_sound(const struct shard *shard)
{
	return !shard->view.data || cache_is_sound(&shard->view, shard->stored);
}

void reader_remove(const struct shard_reader *reader, struct shard *shard)
{
	struct cache_strings strings;
	struct cache_object object = object_of_shard(shard, &strings);
	char name[CACHE_NAME_BYTES];

	cache_name(&object, name);
	(void)cache_remove(reader->folder, name, NULL);
	cache_view_done(&shard->view);
	shard->cached = false;
}

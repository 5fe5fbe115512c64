/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "fetchd/cache/shard_cache.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define PIECE_BYTES  (UINT64_C(4) << 20) /* between two looks at whether it is still wanted */
#define LEASE_S      900u
#define PAUSE_US     60000000u /* after a disk said no */
#define MAKE_ROOM_US 10000000u /* a file may be in work */

/* ---- Jobs: the lock is held ---- */

static void take_back(struct fetch_cache *cache, struct keep_job *job)
{
	cache->backlog_bytes -= job->pin.bytes;
	buffer_rest(&job->own);
	if (job->own.output.data)
		cache->spare[cache->spares++] = job->own;
}

static void reap(struct fetch_cache *cache)
{
	while (cache->tail != cache->at) {
		struct keep_job *job = &cache->job[cache->tail % KEEP_JOBS_MAX];

		if (!job->done || job->readers > 0)
			return;
		if (job->own.output.data)
			take_back(cache, job);
		cache->tail++;
	}
}

/* The window has its bytes back. */
static void release(struct fetch_cache *cache, struct keep_job *job)
{
	if (!job->shard)
		return;
	job->shard->window->keeps--;
	job->shard = NULL;
	job->data = NULL;
	(void)pthread_cond_signal(&cache->fetch->progress);
}

void cache_keep(struct shard *shard)
{
	struct fetch_cache *cache = shard->source->fetch->cache;
	struct keep_job *job;
	struct cache_object object;
	struct cache_strings room;

	if (!cache_takes_shard(shard) || shard->cached)
		return;
	if (cache->head - cache->tail == KEEP_JOBS_MAX) {
		atomic_fetch_add(&cache->passed_over, 1);
		return;
	}
	job = &cache->job[cache->head % KEEP_JOBS_MAX];
	*job = (struct keep_job){ .shard = shard,
				  .data = shard->raw.output.data,
				  .source = shard->plan.source,
				  .key = shard->plan.key,
				  .pin = shard->pin };
	object = cache_object_of_job(cache->fetch, job->source, job->key, &job->pin, &room);
	cache_name(&object, job->name);
	cache->head++;
	shard->window->keeps++;
	(void)pthread_cond_signal(&cache->keep);
}

/* The job takes the bytes over from the window, or gives up. False: the window has to wait for that. */
static bool let_go(struct fetch_cache *cache, struct keep_job *job)
{
	bool spilled = job->shard->raw.spilled; /* which goes as it came: no place is given for it */

	if ((spilled || cache->spares > 0) && cache->backlog_bytes + job->pin.bytes <= cache->backlog_max) {
		cache->backlog_bytes += job->pin.bytes;
		job->own = shard_take_raw(job->shard,
					  spilled ? (struct buffer){ 0 } : cache->spare[--cache->spares]);
		job->shard->window->keeps--;
		job->shard = NULL;
		return true;
	}
	atomic_store(&job->given_up, true);
	if ((job->busy && !job->written) || job->readers > 0)
		return false;
	release(cache, job);
	return true;
}

bool cache_lets_go(struct window *window)
{
	struct fetch_cache *cache;
	bool all = true;

	if (window->keeps == 0)
		return true;
	cache = window->shard[0].source->fetch->cache;
	for (uint64_t i = cache->tail; i != cache->head; i++) {
		struct keep_job *job = &cache->job[i % KEEP_JOBS_MAX];

		if (job->shard && job->shard->window == window && !let_go(cache, job))
			all = false;
	}
	return all;
}

struct keep_job *keep_borrow(struct fetch_cache *cache, const char name[static CACHE_NAME_BYTES])
{
	for (uint64_t i = cache->tail; i != cache->head; i++) {
		struct keep_job *job = &cache->job[i % KEEP_JOBS_MAX];

		if (job->data && !job->done && !atomic_load(&job->given_up) &&
		    memcmp(job->name, name, CACHE_NAME_BYTES) == 0) {
			job->readers++;
			return job;
		}
	}
	return NULL;
}

void keep_put_back(struct fetch_cache *cache, struct keep_job *job)
{
	job->readers--;
	if (job->readers == 0 && (job->done || (atomic_load(&job->given_up) && !job->busy)))
		release(cache, job);
	reap(cache);
}

/* ---- Room for windows that spill ---- */

bool keep_make_room(void *context, uint64_t bytes)
{
	struct fetch_cache *cache = context;
	struct fetch *fetch = cache->fetch;
	uint64_t until_us = clock_us() + MAKE_ROOM_US, mine;
	bool given;

	(void)pthread_mutex_lock(&fetch->lock);
	mine = ++cache->room_asked;
	cache->room_wanted += bytes;
	(void)pthread_cond_signal(&cache->keep);
	while (cache->room_answered < mine && clock_us() < until_us)
		fetch_wait(fetch, &cache->room, IDLE_MS);
	given = cache->room_answered >= mine && cache->room_given;
	(void)pthread_mutex_unlock(&fetch->lock);
	return given;
}

/* The lock is held. Nothing is kept for a while: it would take the room again. */
static void give_room(struct fetch_cache *cache)
{
	uint64_t asked = cache->room_asked, bytes = cache->room_wanted;
	bool given;

	if (asked == cache->room_answered)
		return;
	cache->room_wanted = 0;
	(void)pthread_mutex_unlock(&cache->fetch->lock);
	given = room_give_up(cache, bytes);
	cache->pause_until_us = clock_us() + PAUSE_US;
	(void)pthread_mutex_lock(&cache->fetch->lock);
	cache->room_answered = asked;
	cache->room_given = given;
	(void)pthread_cond_broadcast(&cache->room);
}

/* ---- The keeper ---- */

static int write_pieces(struct fetch_cache *cache, struct keep_job *job, struct cache_writer *writer,
			struct error *err)
{
	for (uint64_t at = 0; at < job->pin.bytes; at += PIECE_BYTES) {
		uint64_t left = job->pin.bytes - at;
		int r;

		if (atomic_load(&job->given_up)) {
			atomic_fetch_add(&cache->passed_over, 1);
			return error_set(err, -ECANCELED, "%s: its window is needed", job->key);
		}
		r = cache_append(writer, job->data + at, left < PIECE_BYTES ? left : PIECE_BYTES, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int keep(struct fetch_cache *cache, struct keep_job *job, struct error *err)
{
	CLEANUP(cache_abandon) struct cache_writer writer = { 0 };
	struct cache_strings room;
	struct cache_object object =
		cache_object_of_job(cache->fetch, job->source, job->key, &job->pin, &room);
	const struct cache_item item = {
		.name = job->name, .endpoint = object.endpoint, .bucket = object.bucket, .key = object.key
	};
	uint64_t place;
	int r = room_reread(cache, false, err);

	if (r < 0)
		return r;
	room_shrink(cache);
	place = room_place(cache, &item);
	if (!room_make(cache, job->pin.bytes, place)) {
		atomic_fetch_add(&cache->passed_over, 1);
		return 0;
	}
	if ((r = cache_create(cache->cache, &object, &writer, err)) < 0 ||
	    (r = write_pieces(cache, job, &writer, err)) < 0)
		return r;
	(void)pthread_mutex_lock(&cache->fetch->lock);
	job->written = true;
	(void)pthread_mutex_unlock(&cache->fetch->lock);
	if ((r = cache_commit(&writer, err)) < 0)
		return r;
	atomic_fetch_add(&cache->kept, 1);
	cache_list_changed(&cache->list, cache->cache);
	return cache_list_add(&cache->list, job->name, job->pin.bytes, place, err);
}

static void try_keep(struct fetch_cache *cache, struct keep_job *job)
{
	struct error err = { 0 };
	int r;

	if (atomic_load(&job->given_up) || clock_us() < cache->pause_until_us) {
		atomic_fetch_add(&cache->passed_over, 1);
		return;
	}
	r = keep(cache, job, &err);
	if (r == 0 || r == -ECANCELED)
		return;
	log_warning("%s: cannot be kept: %s; going on without", job->key, err.text);
	/* Next time there is less. */
	if (r == -ENOSPC || r == -EDQUOT)
		(void)room_give_up(cache, job->pin.bytes);
	cache->pause_until_us = clock_us() + PAUSE_US;
}

static void rest(struct fetch_cache *cache, struct alive_worker *worker)
{
	struct fetch *fetch = cache->fetch;
	struct error err = { 0 };

	if (cache->room_asked == cache->room_answered)
		fetch_wait(fetch, &cache->keep, IDLE_MS);
	alive_tick(worker);
	give_room(cache);
	if (cache->at != cache->head)
		return;
	(void)pthread_mutex_unlock(&fetch->lock);
	if (room_reread(cache, false, &err) < 0)
		log_warning("%s", err.text);
	room_shrink(cache);
	(void)pthread_mutex_lock(&fetch->lock);
}

static void finish(struct fetch_cache *cache, struct keep_job *job)
{
	job->busy = false;
	job->done = true;
	if (job->readers == 0)
		release(cache, job);
	cache->at++;
	reap(cache);
	(void)pthread_cond_signal(&cache->fetch->progress);
}

void *keep_thread(void *argument)
{
	struct fetch_cache *cache = argument;
	struct fetch *fetch = cache->fetch;
	struct alive_worker *worker = alive_worker("the cache's keeper");
	struct error err = { 0 };

	alive_lease(worker, NULL, LEASE_S);
	cache_sweep(cache->cache);
	if (room_reread(cache, true, &err) < 0)
		log_warning("%s", err.text);
	alive_lease_end(worker);
	(void)pthread_mutex_lock(&fetch->lock);
	for (;;) {
		while (cache->at == cache->head)
			rest(cache, worker);
		struct keep_job *job = &cache->job[cache->at % KEEP_JOBS_MAX];

		give_room(cache);
		job->busy = true;
		(void)pthread_mutex_unlock(&fetch->lock);
		alive_lease(worker, NULL, LEASE_S);
		try_keep(cache, job);
		alive_lease_end(worker);
		(void)pthread_mutex_lock(&fetch->lock);
		finish(cache, job);
	}
	return NULL;
}

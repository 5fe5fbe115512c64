/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"
#include "core/log.h"
#include "data/next_use.h"
#include "drivers/notify/alive.h"
#include "fetchd/cache.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define PIECE_BYTES   (UINT64_C(4) << 20) /* between two looks at whether it is still wanted */
#define LEASE_S       900u
#define REREAD_US     10000000u /* at most so often */
#define PAUSE_US      60000000u /* after a disk said no */
#define SLACK_PARTS   64u       /* of the budget: made free at once, so that not each file sorts the list */
#define RANK_NEVER    1e9       /* in this run; behind it, how long ago it was used */
#define RANK_STRANGER 1e12      /* of no plan of this run's */

/* ---- Jobs: the lock is held ---- */

static void reap(struct fetch_cache *cache)
{
	while (cache->tail != cache->at) {
		struct keep_job *job = &cache->job[cache->tail % KEEP_JOBS_MAX];

		if (!job->done || job->readers > 0)
			return;
		if (job->own.output.data)
			cache->backlog_bytes -= job->pin.bytes;
		buffer_drop(&job->own);
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
	struct cache_room room;

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
	if (cache->backlog_bytes + job->pin.bytes <= cache->backlog_max) {
		cache->backlog_bytes += job->pin.bytes;
		job->own = shard_take_raw(job->shard);
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

/* ---- Which shard of the plan a file is ---- */

#define PLACE_NONE UINT64_C(0)
#define INDEX_BITS 48u

static uint64_t place_of(uint32_t source, enum split split, uint64_t index)
{
	return UINT64_C(1) << 62 | (uint64_t)source << (INDEX_BITS + 2) | (uint64_t)split << INDEX_BITS |
	       index;
}

/* Whether it is this very object of the plan, not an older version of it. */
static bool is_planned(const struct fetch *fetch, const struct plan_shard *shard, const char *name)
{
	struct store_pin pin = { .bytes = shard->bytes };
	struct cache_object object;
	struct cache_room room;
	char own[CACHE_NAME_BYTES];

	(void)snprintf(pin.etag, sizeof(pin.etag), "%s", shard->etag);
	(void)snprintf(pin.version, sizeof(pin.version), "%s", shard->version);
	object = cache_object_of_job(fetch, shard->source, shard->key, &pin, &room);
	cache_name(&object, own);
	return memcmp(own, name, CACHE_NAME_BYTES) == 0;
}

static uint64_t place_in_source(const struct fetch *fetch, uint32_t source, const struct cache_item *item)
{
	struct store_pin none = { 0 };
	struct cache_room room;
	struct cache_object top = cache_object_of_job(fetch, source, "", &none, &room);
	size_t prefix_bytes = strlen(top.key);

	if (strcmp(item->bucket, top.bucket) != 0 || strncmp(item->key, top.key, prefix_bytes) != 0)
		return PLACE_NONE;
	for (int split = 0; split < SPLIT_MAX; split++) {
		struct plan_shard shard;
		uint64_t index;

		if (!plan_find(fetch->plan, source, (enum split)split, item->key + prefix_bytes, &index))
			continue;
		shard = plan_shard(fetch->plan, source, (enum split)split, index);
		if (is_planned(fetch, &shard, item->name))
			return place_of(source, (enum split)split, index);
	}
	return PLACE_NONE;
}

static uint64_t place_of_item(void *context, const struct cache_item *item)
{
	const struct fetch_cache *cache = context;
	uint64_t place = PLACE_NONE;

	if (cache_pins_cover(&cache->pins, item))
		return CACHE_PINNED;
	for (uint32_t i = 0; i < cache->fetch->sources && place == PLACE_NONE; i++)
		if (cache_takes_store(&cache->fetch->run.config.source[i].store))
			place = place_in_source(cache->fetch, i, item);
	return place;
}

/* ---- Room ---- */

static double use_of(const struct fetch_cache *cache, uint64_t place, bool read)
{
	uint32_t source = (uint32_t)(place >> (INDEX_BITS + 2)) & (PLAN_SOURCES_MAX - 1);
	enum split split = (enum split)(place >> INDEX_BITS & 3);

	return next_use(cache->fetch->plan, &cache->cursor, source, split,
			place & ((UINT64_C(1) << INDEX_BITS) - 1), read);
}

/* Whatever the run needs later; then what it needs no more, and what it never did, longest unused first. */
static double rank(void *context, const struct cache_held *held)
{
	const struct fetch_cache *cache = context;
	double age = difftime(time(NULL), (time_t)held->used_s), value;

	age = age < 0 ? 0 : age;
	value = held->place == PLACE_NONE ? INFINITY : use_of(cache, held->place, false);
	if (isinf(value))
		value = (held->place == PLACE_NONE ? RANK_STRANGER : RANK_NEVER) + age;
	return value > cache->rank_below ? value : -1;
}

static void look(struct fetch_cache *cache)
{
	(void)pthread_mutex_lock(&cache->fetch->lock);
	if (cache->fetch->cursor)
		cache->cursor = *cache->fetch->cursor;
	(void)pthread_mutex_unlock(&cache->fetch->lock);
}

/* Other processes add and remove; controld changes the pins. */
static int reread(struct fetch_cache *cache, bool first, struct error *err)
{
	uint64_t mark = cache_mark(cache->cache), now = clock_us();
	bool pins = cache_pins_changed(cache->cache, &cache->pins);

	if (!first && !pins && (mark == cache->mark || now - cache->read_us < REREAD_US))
		return 0;
	cache->read_us = now;
	cache->mark = mark;
	if (cache_pins_load(cache->cache, &cache->pins, err) < 0)
		log_warning("pins of the cache: %s", err->text);
	return cache_list_read(&cache->list, cache->cache, place_of_item, cache, err);
}

static void changed(struct fetch_cache *cache)
{
	cache_changed(cache->cache);
	cache->mark = cache_mark(cache->cache);
}

/* The budget, or less where the disk has not as much to give. */
static uint64_t usable_bytes(const struct fetch_cache *cache)
{
	const struct config *config = &cache->fetch->run.config;
	uint64_t left = cache_free_bytes(cache->cache), spare = config->fetch.cache_spare_bytes;
	uint64_t there = cache->list.bytes, usable;

	if (left >= spare)
		usable = there + (left - spare);
	else
		usable = there > spare - left ? there - (spare - left) : 0;
	return usable < config->fetch.cache_bytes ? usable : config->fetch.cache_bytes;
}

static bool evict(struct fetch_cache *cache, uint64_t least, uint64_t most)
{
	uint64_t freed;

	look(cache);
	freed = cache_list_evict(&cache->list, cache->cache, least, most, rank, cache);
	if (freed > 0)
		changed(cache);
	return freed >= least;
}

/* True: there is room, made of what comes later than this shard comes again. */
static bool make_room(struct fetch_cache *cache, const struct keep_job *job, uint64_t place)
{
	uint64_t usable = usable_bytes(cache), wanted = cache->list.bytes + job->pin.bytes;
	double use;

	if (wanted <= usable)
		return true;
	if (job->pin.bytes > usable)
		return false;
	if (place == CACHE_PINNED) {
		cache->rank_below = 0;
	} else {
		look(cache);
		use = use_of(cache, place, true);
		/* Among those that are needed no more, this one is not worth another. */
		cache->rank_below = isinf(use) ? RANK_STRANGER - 1 : use;
	}
	return evict(cache, wanted - usable,
		     wanted - usable + cache->fetch->run.config.fetch.cache_bytes / SLACK_PARTS);
}

/* The disk is for checkpoints first. */
static void shrink(struct fetch_cache *cache)
{
	uint64_t usable = usable_bytes(cache);

	if (cache->list.bytes <= usable)
		return;
	cache->rank_below = 0;
	if (evict(cache, 1, cache->list.bytes - usable))
		log_notice("cache: made smaller, to %" PRIu64 " bytes, as its disk is nearly full",
			   cache->list.bytes);
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
	CLEANUP(cache_abandonp) struct cache_writer *writer = NULL;
	struct cache_room room;
	struct cache_object object =
		cache_object_of_job(cache->fetch, job->source, job->key, &job->pin, &room);
	const struct cache_item item = {
		.name = job->name, .endpoint = object.endpoint, .bucket = object.bucket, .key = object.key
	};
	uint64_t place;
	int r = reread(cache, false, err);

	if (r < 0)
		return r;
	place = place_of_item(cache, &item);
	if (!make_room(cache, job, place)) {
		atomic_fetch_add(&cache->passed_over, 1);
		return 0;
	}
	if ((r = cache_create(cache->cache, &object, &writer, err)) < 0 ||
	    (r = write_pieces(cache, job, writer, err)) < 0)
		return r;
	(void)pthread_mutex_lock(&cache->fetch->lock);
	job->written = true;
	(void)pthread_mutex_unlock(&cache->fetch->lock);
	if ((r = cache_commit(TAKE(writer), err)) < 0)
		return r;
	atomic_fetch_add(&cache->kept, 1);
	changed(cache);
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
	if (r == -ENOSPC || r == -EDQUOT) {
		cache->rank_below = 0;
		(void)evict(cache, 1, job->pin.bytes);
	}
	cache->pause_until_us = clock_us() + PAUSE_US;
}

static void rest(struct fetch_cache *cache, struct alive_worker *worker)
{
	struct fetch *fetch = cache->fetch;
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	(void)pthread_cond_timedwait(&cache->keep, &fetch->lock, &until);
	alive_tick(worker);
	if (cache->at != cache->head)
		return;
	(void)pthread_mutex_unlock(&fetch->lock);
	shrink(cache);
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
	if (reread(cache, true, &err) < 0)
		log_warning("%s", err.text);
	alive_lease_end(worker);
	(void)pthread_mutex_lock(&fetch->lock);
	for (;;) {
		while (cache->at == cache->head)
			rest(cache, worker);
		struct keep_job *job = &cache->job[cache->at % KEEP_JOBS_MAX];

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

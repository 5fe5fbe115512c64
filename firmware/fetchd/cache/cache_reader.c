/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/hugepage/hugepage.h"
#include "drivers/notify/alive.h"
#include "fetchd/cache/shard_cache.h"

#include <inttypes.h>
#include <string.h>

/* Shards looked up before the first of them is read: their beginnings are on the way from the disk then. */
#define READ_BATCH 16u
/* The kernel takes no more than a request of its block device at once (force_page_cache_readahead). */
#define READ_STEP_BYTES  (UINT64_C(1) << 20)
#define READ_AHEAD_BYTES (UINT64_C(32) << 20)
/* Past the kernel's memory: as much at once as makes a disk's queue full. Smaller shards are read ahead
 * together. */
#define DIRECT_STEP_BYTES  (UINT64_C(8) << 20)
#define DIRECT_LEAST_BYTES HUGEPAGE_BYTES
#define READ_LEASE_S       900u
#define END_WAIT_MS        10000u

struct cache_object cache_object_of_job(const struct fetch *fetch, uint32_t source, const char *key,
					const struct store_pin *pin, struct cache_strings *room)
{
	return cache_object_of(&fetch->run.config.source[source].store, key, pin, room);
}

bool cache_takes_shard(const struct shard *shard)
{
	const struct fetch *fetch = shard->source->fetch;

	return fetch->cache && cache_accepts_store(&fetch->run.config.source[shard->plan.source].store) &&
	       cache_accepts_pin(&shard->pin);
}

static struct cache_object object_of(const struct shard *shard, struct cache_strings *room)
{
	return cache_object_of_job(shard->source->fetch, shard->plan.source, shard->plan.key, &shard->pin,
				   room);
}

/* ---- The reader ---- */

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

/* All of it into the kernel's memory, while the disk reads on. */
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

/* All of it into the shard's own. */
static int read_direct(struct fetch *fetch, struct shard *shard, struct error *err)
{
	for (uint64_t at = 0; at < shard->view.bytes; at += DIRECT_STEP_BYTES) {
		int r;

		if (given_up(fetch))
			return error_set(err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
		r = cache_read_direct(&shard->view, at, DIRECT_STEP_BYTES, shard->raw.output.data + at, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The way through the kernel's memory costs a copy, and the limit of that memory is for us about what the
 * windows take: only what is there already, or is small enough to stay there, goes it. True: the shard has
 * its room, of 2 MiB pages. */
static bool goes_direct(const struct fetch_cache *cache, struct shard *shard)
{
	struct error err;

	return !cache->fits && shard->view.bytes >= DIRECT_LEAST_BYTES && !cache_is_resident(&shard->view) &&
	       shard_reserve(shard, &err) == 0 && !shard->raw.spilled;
}

static void missed(struct fetch_cache *cache, struct shard *shard)
{
	struct error err = { 0 };

	shard_leaves(shard, STALL_CACHE);
	atomic_fetch_add(&cache->misses, 1);
	if (shard_reserve(shard, &err) < 0) {
		shard->err = err;
		network_done(shard);
		return;
	}
	(void)pthread_mutex_lock(&cache->fetch->lock);
	network_fetch(shard);
	(void)pthread_mutex_unlock(&cache->fetch->lock);
}

static void found(struct fetch_cache *cache, struct shard *shard)
{
	shard_leaves(shard, STALL_CACHE);
	shard->cached = true;
	atomic_fetch_add(&cache->hits, 1);
	atomic_fetch_add(&cache->bytes, shard->plan.bytes);
	network_done(shard);
}

/* What waits to be written is as good as written. */
static bool copy_unwritten(struct fetch_cache *cache, struct shard *shard, const char *name)
{
	struct fetch *fetch = cache->fetch;
	struct keep_job *job;
	struct error err;
	bool copied = false;

	(void)pthread_mutex_lock(&fetch->lock);
	job = keep_borrow(cache, name);
	(void)pthread_mutex_unlock(&fetch->lock);
	if (!job)
		return false;
	if (shard_reserve(shard, &err) == 0) {
		memcpy(shard->raw.output.data, job->data, shard->plan.bytes);
		copied = true;
	}
	(void)pthread_mutex_lock(&fetch->lock);
	keep_put_back(cache, job);
	(void)pthread_mutex_unlock(&fetch->lock);
	return copied;
}

/* True: it is mapped, and its beginning on the way. Everything else is dealt with. */
static bool look_up(struct fetch_cache *cache, struct shard *shard)
{
	char name[CACHE_NAME_BYTES];
	struct cache_strings room;
	struct cache_object object = object_of(shard, &room);
	struct error err = { 0 };
	int r;

	cache_name(&object, name);
	if (copy_unwritten(cache, shard, name)) {
		found(cache, shard);
		return false;
	}
	r = cache_map(cache->cache, &object, &shard->view, &err);
	if (r < 0)
		log_warning("%s: %s, fetching it", shard->plan.key, err.text);
	if (r != 1) {
		missed(cache, shard);
		return false;
	}
	if (goes_direct(cache, shard))
		return true;
	/* What an earlier pass brought over the network would lie idle beside the kernel's pages. */
	shard_release(shard);
	read_ahead(&shard->view, 0, READ_AHEAD_BYTES);
	return true;
}

/* Whether the error passes or the disk dies is not known here. The store has the object: it is fetched, and
 * kept anew, which finds other blocks or fails and pauses the keeper. To try again would hold the run up, up
 * to minutes a time on such disks, at every pass. */
static void drop_unreadable(struct fetch_cache *cache, struct shard *shard, const struct error *err)
{
	struct cache_strings room;
	struct cache_object object = object_of(shard, &room);
	char name[CACHE_NAME_BYTES];

	cache_name(&object, name);
	event_send(
		&(struct event){
			.id = EVENT_SHARD_REFETCHED, .run_id = cache->fetch->run.id, .key = shard->plan.key },
		"the cache's copy of %s, %s/objects/%.2s/%s: %s; removing it, fetching the shard once more",
		shard->plan.key, cache_folder(cache->cache), name, name, err->text);
	cache_forget(shard);
}

static void read_one(struct fetch_cache *cache, struct shard *shard)
{
	struct error err = { 0 };
	int r = shard->stored ? read_direct(cache->fetch, shard, &err) : -EINVAL;

	if (r == -EINVAL) {
		shard_release(shard);
		r = read_in(cache->fetch, shard, &err);
	}
	cache_view_close(&shard->view);
	if (r == 0) {
		found(cache, shard);
	} else if (r == -ECANCELED) {
		shard->err = err;
		network_done(shard);
	} else {
		drop_unreadable(cache, shard, &err);
		missed(cache, shard);
	}
}

/* Waits for work; at most READ_BATCH shards. */
static unsigned take_batch(struct fetch_cache *cache, struct shard *batch[static READ_BATCH],
			   struct alive_worker *worker)
{
	struct fetch *fetch = cache->fetch;
	unsigned count = 0;

	(void)pthread_mutex_lock(&fetch->lock);
	while (!cache->to_read.first) {
		fetch_wait(fetch, &cache->read, IDLE_MS);
		alive_tick(worker);
	}
	while (count < READ_BATCH && (batch[count] = queue_take(&cache->to_read)))
		count++;
	(void)pthread_mutex_unlock(&fetch->lock);
	return count;
}

static void *read_thread(void *argument)
{
	struct fetch_cache *cache = argument;
	struct alive_worker *worker = alive_worker("the cache's reader");

	nic_pin(&cache->fetch->cores.decode);
	for (;; alive_lease_end(worker)) {
		struct shard *batch[READ_BATCH], *there[READ_BATCH];
		unsigned count = take_batch(cache, batch, worker), hits = 0;

		alive_lease(worker, NULL, READ_LEASE_S);
		for (unsigned i = 0; i < count; i++) {
			cache_view_done(&batch[i]->view);
			if (look_up(cache, batch[i]))
				there[hits++] = batch[i];
		}
		for (unsigned i = 0; i < hits; i++)
			read_one(cache, there[i]);
	}
	return NULL;
}

/* ---- What the others call ---- */

void cache_fetch(struct shard *shard)
{
	struct fetch_cache *cache = shard->source->fetch->cache;

	queue_append(&cache->to_read, shard);
	(void)pthread_cond_signal(&cache->read);
}

bool cache_shard_is_sound(const struct shard *shard)
{
	return !shard->view.data || cache_is_sound(&shard->view, shard->stored);
}

void cache_forget(struct shard *shard)
{
	const struct fetch_cache *cache = shard->source->fetch->cache;
	struct cache_strings room;
	struct cache_object object = object_of(shard, &room);
	char name[CACHE_NAME_BYTES];

	cache_name(&object, name);
	(void)cache_remove(cache->cache, name, NULL);
	cache_view_done(&shard->view);
	shard->cached = false;
}

void cache_count(const struct fetch *fetch, struct status_fetchd *status)
{
	const struct fetch_cache *cache = fetch->cache;

	if (!cache)
		return;
	status->cached = 1;
	status->cache_hits = atomic_load(&cache->hits);
	status->cache_misses = atomic_load(&cache->misses);
	status->cache_bytes = atomic_load(&cache->bytes);
	status->cache_written = atomic_load(&cache->kept);
}

static bool any_cached_source(const struct config *config)
{
	for (uint32_t i = 0; i < config->sources; i++)
		if (cache_accepts_store(&config->source[i].store))
			return true;
	return false;
}

/* As many as the backlog holds of average size, each for the largest. They rest: it costs no memory. */
static void make_spares(struct fetch_cache *cache, const struct extent *extent)
{
	uint64_t average = extent->shards ? extent->bytes / extent->shards : 0,
		 wanted = average ? cache->backlog_max / average : 0;

	wanted = wanted < extent->shards ? wanted : extent->shards;
	while (cache->spares < KEEP_JOBS_MAX && cache->spares < wanted) {
		struct buffer place = buffer_place(extent->largest);

		if (!place.room)
			return;
		cache->spare[cache->spares++] = place;
	}
}

/* A cache is a help, never a condition. */
void cache_begin(struct fetch *fetch)
{
	const struct config *config = &fetch->run.config;
	struct fetch_cache *cache;
	char folder[PATH_BYTES];
	struct error err;

	if (config->fetch.cache_bytes == 0 || !any_cached_source(config))
		return;
	cache = calloc(1, sizeof(*cache));
	if (!cache || cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, &cache->cache, &err) < 0) {
		log_warning("going on without a cache: %s", cache ? err.text : "no memory");
		free(cache);
		return;
	}
	cache->fetch = fetch;
	cache->fits = fetch->extent.bytes <= fetch->budget.max / 2;
	cache->backlog_max = config_fetch_cache_backlog_bytes(config);
	make_spares(cache, &fetch->extent);
	if (cache_list_reserve(&cache->list, fetch->extent.shards, &err) < 0)
		log_warning("cache: %s", err.text);
	(void)pthread_cond_init(&cache->read, NULL);
	(void)pthread_cond_init(&cache->keep, NULL);
	(void)pthread_cond_init(&cache->room, NULL);
	fetch->budget.make_room = keep_make_room;
	fetch->budget.context = cache;
	fetch->cache = cache;
	log_info("cache: %" PRIu64 " bytes in %s", config->fetch.cache_bytes, folder);
}

int cache_start_threads(struct fetch *fetch, struct error *err)
{
	pthread_t thread;

	if (!fetch->cache)
		return 0;
	if (pthread_create(&thread, NULL, read_thread, fetch->cache) != 0 ||
	    pthread_create(&thread, NULL, keep_thread, fetch->cache) != 0)
		return error_set(err, -EAGAIN, "cannot start the cache's threads");
	return 0;
}

/* The last windows' shards are for the next run. */
void cache_end(struct fetch *fetch)
{
	struct fetch_cache *cache = fetch->cache;
	uint64_t until_ms = clock_ms() + END_WAIT_MS;

	if (!cache)
		return;
	(void)pthread_mutex_lock(&fetch->lock);
	while (cache->at != cache->head && clock_ms() < until_ms)
		fetch_wait(fetch, &fetch->progress, IDLE_MS);
	(void)pthread_mutex_unlock(&fetch->lock);
}

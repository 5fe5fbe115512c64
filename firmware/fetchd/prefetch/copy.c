/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/prefetch/copy.h"

#include "core/base/paths.h"
#include "data/order.h"
#include "drivers/cache/fetcher.h"
#include "fetchd/cache/shard_evict.h"
#include "fetchd/shared/ahead.h"

#include <string.h>

enum { GO_ON = 0, ENOUGH = 1, UNWANTED = 2 }; /* results of the copy of an object, beside errors */

struct copy {
	const struct prefetch_trial *trial;
	bool (*wanted)(void *context);
	void *context;
	void (*awake)(void *context);
	struct prefetch_copied *copied;
	struct cache *folder;
	struct fetcher *fetcher; /* fetches from the source in work; NULL = nothing is missing so far */
	uint64_t coming;         /* bytes in flight, which the evictor's list does not have */
	uint64_t windows_bytes;  /* bytes of the windows so far, also of objects that the cache has */
	struct windows windows;
	struct fetch next; /* state of the next trial, as far as the evictor reads it */
	struct shard_evictor evictor;
	struct error *err;
};

static void copy_done(struct copy *copy)
{
	fetcher_closep(&copy->fetcher);
	cache_list_done(&copy->evictor.list);
	cache_pins_done(&copy->evictor.pins);
	cache_closep(&copy->folder); /* ends the claims */
}

/* ---- One object ---- */

/* Describes an object as a file of the cache; `name` gets the name of the file. */
static struct cache_item item_of(const struct cache_object *object, char name[static CACHE_NAME_BYTES])
{
	cache_name(object, name);
	return (struct cache_item){
		.name = name, .endpoint = object->endpoint, .bucket = object->bucket, .key = object->key
	};
}

static int add_to_list(struct copy *copy, const struct cache_object *object)
{
	char name[CACHE_NAME_BYTES];
	const struct cache_item item = item_of(object, name);

	cache_list_changed(&copy->evictor.list, copy->folder);
	return cache_list_add(&copy->evictor.list, name, object->pin->bytes, evict_tag(&copy->evictor, &item),
			      copy->err);
}

static int fetched(void *context, const struct cache_object *object, int r, const struct error *err)
{
	struct copy *copy = context;

	copy->coming -= object->pin->bytes;
	if (r < 0) {
		*copy->err = *err;
		return r == -ESTALE || r == -ENOENT ? GO_ON : r;
	}
	/* relaxed: figures for the status page. */
	atomic_fetch_add_explicit(&copy->copied->objects, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&copy->copied->bytes, object->pin->bytes, memory_order_relaxed);
	return add_to_list(copy, object);
}

static uint32_t ranges_of(const struct config *config)
{
	uint64_t bytes = config_fetch_part_bytes(config), ranges;

	bytes = bytes < FETCHER_RANGE_BYTES_MAX ? bytes : FETCHER_RANGE_BYTES_MAX;
	ranges = config_fetch_cache_backlog_bytes(config) / bytes;
	return ranges < 1 ? 1 : ranges < COPY_RANGES_MAX ? (uint32_t)ranges : COPY_RANGES_MAX;
}

static int open_fetcher(struct copy *copy, uint32_t source)
{
	const struct config *config = &copy->trial->config;
	int r;

	if (copy->fetcher)
		return 0;
	r = fetcher_open(config, &config->source[source].store, copy->folder, ranges_of(config),
			 &copy->fetcher, copy->err);
	if (r == 0)
		fetcher_set_awake(copy->fetcher, copy->awake, NULL);
	return r;
}

/* Makes space for an object, and asks for it. Returns ENOUGH where the cache holds no more. */
static int bring(struct copy *copy, const struct plan_shard *shard, const struct cache_object *object)
{
	char name[CACHE_NAME_BYTES];
	const struct cache_item item = item_of(object, name);
	uint64_t claim;
	int r;

	if (cache_claim(copy->folder, name, &claim) == 0)
		return GO_ON; /* another process fetches it */
	if ((r = evict_reread(&copy->evictor, false, copy->err)) < 0 ||
	    (r = open_fetcher(copy, shard->source)) < 0)
		return r;
	if (!evict_for(&copy->evictor, copy->coming + object->pin->bytes, evict_tag(&copy->evictor, &item)))
		return ENOUGH;
	copy->coming += object->pin->bytes;
	return fetcher_add(copy->fetcher, shard->key, object->pin, fetched, copy, copy->err);
}

static int copy_shard(struct copy *copy, const struct plan_shard *shard)
{
	const struct store_pin pin = store_pin_make(shard->bytes, shard->etag, shard->version);
	struct cache_strings strings;
	const struct cache_object object =
		cache_object_of(&copy->trial->config.source[shard->source].store, shard->key, &pin, &strings);

	if (!copy->wanted(copy->context))
		return UNWANTED;
	copy->windows_bytes += shard->bytes;
	if (copy->windows_bytes > copy->trial->config.fetch.memory_bytes)
		return ENOUGH;
	return cache_accepts_pin(&pin) && !cache_touch(copy->folder, &object) ? bring(copy, shard, &object)
									      : GO_ON;
}

/* ---- Windows ---- */

/* Copies the k-th shard of a window of each lane. */
static int copy_lanes(struct copy *copy, uint32_t source, uint64_t window, uint64_t k)
{
	const struct plan *plan = copy->trial->plan;
	const struct plan_settings *settings = plan_settings_of(plan);
	const uint64_t shards = plan_source_shards(plan, source, SPLIT_TRAIN);
	int r = GO_ON;

	for (uint32_t lane = 0; r == GO_ON && lane < settings->lanes; lane++) {
		const uint64_t at = order_position(settings->lanes, lane, settings->window_shards, window, k);
		struct plan_shard shard;

		if (at >= shards)
			continue;
		shard = plan_shard(plan, source, SPLIT_TRAIN,
				   order_shard(settings->seed, source, 0, shards, at));
		r = copy_shard(copy, &shard);
	}
	return r;
}

static int copy_source(struct copy *copy, uint32_t source)
{
	const struct plan *plan = copy->trial->plan;
	const uint64_t most = plan_settings_of(plan)->window_shards,
		       shards = plan_source_shards(plan, source, SPLIT_TRAIN),
		       of_window = most < shards ? most : shards;
	int r = GO_ON, finished;

	for (uint64_t window = 0; r == GO_ON && window <= copy->windows.ahead; window++)
		for (uint64_t k = 0; r == GO_ON && k < of_window; k++)
			r = copy_lanes(copy, source, window, k);
	if (r < 0 || r == UNWANTED || !copy->fetcher)
		return r;
	finished = fetcher_finish(copy->fetcher, fetched, copy, copy->err);
	fetcher_closep(&copy->fetcher);
	return finished != GO_ON ? finished : r;
}

/* Makes what the evictor reads of a kiln-fetchd that has not begun: its cursor is the start of the run. */
static int begin(struct copy *copy)
{
	char folder[PATH_BYTES];
	int r;

	copy->windows.ahead = plan_is_of_objects(copy->trial->plan) ? AHEAD_OBJECTS : AHEAD_LEAST;
	copy->next.run.config = copy->trial->config; /* which the trial owns */
	copy->next.plan = copy->trial->plan;
	copy->next.windows = &copy->windows;
	(void)pthread_mutex_init(&copy->next.lock, NULL);
	copy->evictor.fetch = &copy->next;
	copy->evictor.unread = true;
	r = cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, &copy->folder, copy->err);
	if (r < 0)
		return r;
	copy->evictor.folder = copy->folder;
	return evict_reread(&copy->evictor, true, copy->err);
}

int prefetch_copy(const struct prefetch_trial *trial, bool (*wanted)(void *context), void *context,
		  void (*awake)(void *context), struct prefetch_copied *copied, struct error *err)
{
	CLEANUP(copy_done)
	struct copy copy = { .trial = trial,
			     .wanted = wanted,
			     .context = context,
			     .awake = awake,
			     .copied = copied,
			     .err = err };
	int r = begin(&copy);

	for (uint32_t i = 0; r == GO_ON && i < trial->config.sources; i++)
		if (cache_accepts_store(&trial->config.source[i].store))
			r = copy_source(&copy, i);
	return r < 0 ? r : r != UNWANTED;
}

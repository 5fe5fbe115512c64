/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache holds for which shard of the plan, and what is evicted for another: the keeper's own. */
#include "core/base/log.h"
#include "data/next_use.h"
#include "fetchd/cache/shard_cache.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define SLACK_PARTS   64u  /* of the budget: made free at once, so that not each file sorts the list */
#define RANK_NEVER    1e9  /* in this run; behind it, how long ago it was used */
#define RANK_STRANGER 1e12 /* of no plan of this run's */

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
	struct cache_strings room;
	char own[CACHE_NAME_BYTES];

	(void)snprintf(pin.etag, sizeof(pin.etag), "%s", shard->etag);
	(void)snprintf(pin.version, sizeof(pin.version), "%s", shard->version);
	object = cache_object_of_job(fetch, shard->source, shard->key, &pin, &room);
	cache_name(&object, own);
	return memcmp(own, name, CACHE_NAME_BYTES) == 0;
}

/* `ret_known`, where it is true, says that the plan has the object, be it in another version. */
static uint64_t place_in_source(const struct fetch *fetch, uint32_t source, const struct cache_item *item,
				bool *ret_known)
{
	struct store_pin none = { 0 };
	struct cache_strings room;
	struct cache_object top = cache_object_of_job(fetch, source, "", &none, &room);
	size_t prefix_bytes = strlen(top.key);

	if (!cache_same_endpoint(item->endpoint, top.endpoint) || strcmp(item->bucket, top.bucket) != 0 ||
	    strncmp(item->key, top.key, prefix_bytes) != 0)
		return PLACE_NONE;
	for (int split = 0; split < SPLIT_MAX; split++) {
		struct plan_shard shard;
		uint64_t index;

		if (!plan_find(fetch->plan, source, (enum split)split, item->key + prefix_bytes, &index))
			continue;
		*ret_known = true;
		shard = plan_shard(fetch->plan, source, (enum split)split, index);
		if (is_planned(fetch, &shard, item->name))
			return place_of(source, (enum split)split, index);
	}
	return PLACE_NONE;
}

uint64_t room_place(void *context, const struct cache_item *item)
{
	const struct fetch_cache *cache = context;
	uint64_t place = PLACE_NONE;
	bool known = false;

	for (uint32_t i = 0; i < cache->fetch->sources && place == PLACE_NONE; i++)
		if (cache_accepts_store(&cache->fetch->run.config.source[i].store))
			place = place_in_source(cache->fetch, i, item, &known);
	/* An older version of what the plan has is of use to nobody, pin or not. */
	return (place != PLACE_NONE || !known) && cache_pins_cover(&cache->pins, item) ? CACHE_PINNED : place;
}

/* ---- Room ---- */

static double use_of(const struct fetch_cache *cache, uint64_t place, uint32_t held)
{
	uint32_t source = (uint32_t)(place >> (INDEX_BITS + 2)) & (PLAN_SOURCES_MAX - 1);
	enum split split = (enum split)(place >> INDEX_BITS & 3);

	return next_use(cache->fetch->plan, &cache->cursor, source, split,
			place & ((UINT64_C(1) << INDEX_BITS) - 1), held);
}

/* Whatever the run needs later; then what it needs no more, and what it never did, longest unused first. */
static double rank(void *context, const struct cache_held *held)
{
	const struct fetch_cache *cache = context;
	double age = difftime(time(NULL), (time_t)held->used_s), value;

	age = age < 0 ? 0 : age;
	value = held->tag == PLACE_NONE ? INFINITY : use_of(cache, held->tag, 0);
	if (isinf(value))
		value = (held->tag == PLACE_NONE ? RANK_STRANGER : RANK_NEVER) + age;
	return value > cache->rank_below ? value : -1;
}

static void look(struct fetch_cache *cache)
{
	(void)pthread_mutex_lock(&cache->fetch->lock);
	cache->windows_held = 1 + cache->fetch->ahead;
	if (cache->fetch->cursor)
		cache->cursor = *cache->fetch->cursor;
	(void)pthread_mutex_unlock(&cache->fetch->lock);
}

/* Other processes add and remove; controld changes the pins. */
int room_reread(struct fetch_cache *cache, bool first, struct error *err)
{
	if (!first && !cache_pins_changed(cache->cache, &cache->pins) &&
	    !cache_list_is_stale(&cache->list, cache->cache))
		return 0;
	if (cache_pins_load(cache->cache, &cache->pins, err) < 0)
		log_warning("pins of the cache: %s", err->text);
	return cache_list_read(&cache->list, cache->cache, room_place, cache, err);
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
		cache_list_changed(&cache->list, cache->cache);
	return freed >= least;
}

/* True: there is room, made of what comes later than this shard comes again. */
bool room_make(struct fetch_cache *cache, uint64_t bytes, uint64_t place)
{
	uint64_t usable = usable_bytes(cache), wanted = cache->list.bytes + bytes;
	double use;

	if (wanted <= usable)
		return true;
	if (bytes > usable)
		return false;
	if (place == CACHE_PINNED) {
		cache->rank_below = 0;
	} else {
		look(cache);
		use = use_of(cache, place, cache->windows_held);
		/* Among those that are needed no more, this one is not worth another. */
		cache->rank_below = isinf(use) ? RANK_STRANGER - 1 : use;
	}
	return evict(cache, wanted - usable,
		     wanted - usable + cache->fetch->run.config.fetch.cache_bytes / SLACK_PARTS);
}

/* The disk is for checkpoints first, and others fill the cache, too. */
void room_shrink(struct fetch_cache *cache)
{
	uint64_t usable = usable_bytes(cache);

	if (cache->list.bytes <= usable)
		return;
	cache->rank_below = 0;
	if (evict(cache, 1, cache->list.bytes - usable))
		log_notice("cache: made smaller, to %" PRIu64 " bytes: its budget or its disk allows no more",
			   cache->list.bytes);
}

bool room_give_up(struct fetch_cache *cache, uint64_t bytes)
{
	cache->rank_below = 0;
	return evict(cache, 1, bytes);
}

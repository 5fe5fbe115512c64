/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/cache/shard_evict.h"

#include "core/base/log.h"
#include "data/next_use.h"
#include "fetchd/cache/shard_object.h"
#include "fetchd/shard/sources.h"
#include "fetchd/shared/ahead.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define SLACK_PARTS   64u  /* 1/64 of the budget is freed in one go, as each eviction sorts the list */
#define RANK_NEVER    1e9  /* not read again in this run; the age is added */
#define RANK_STRANGER 1e12 /* no shard of this run; the age is added */

/* ---- Tags: which shard of the plan a file is ---- */

#define TAG_NONE   UINT64_C(0)
#define INDEX_BITS 48u

static uint64_t tag_of(uint32_t source, enum split split, uint64_t index)
{
	return UINT64_C(1) << 62 | (uint64_t)source << (INDEX_BITS + 2) | (uint64_t)split << INDEX_BITS |
	       index;
}

/* Whether the file holds this object of the plan in the plan's version. */
static bool is_planned(const struct fetch *fetch, const struct plan_shard *shard, const char *name)
{
	const struct store_pin pin = store_pin_make(shard->bytes, shard->etag, shard->version);
	struct cache_object object;
	struct cache_strings strings;
	char own[CACHE_NAME_BYTES];

	object = object_of_key(fetch, shard->source, shard->key, &pin, &strings);
	cache_name(&object, own);
	return memcmp(own, name, CACHE_NAME_BYTES) == 0;
}

/* Returns the tag of a file among the shards of one source, or TAG_NONE. Sets *ret_known when the plan has
 * the object, in this or another version. */
static uint64_t tag_in_source(const struct fetch *fetch, uint32_t source, const struct cache_item *item,
			      bool *ret_known)
{
	struct store_pin none = { 0 };
	struct cache_strings strings;
	struct cache_object top = object_of_key(fetch, source, "", &none, &strings);
	size_t prefix_bytes = strlen(top.key);

	if (!cache_same_endpoint(item->endpoint, top.endpoint) || strcmp(item->bucket, top.bucket) != 0 ||
	    strncmp(item->key, top.key, prefix_bytes) != 0)
		return TAG_NONE;
	for (int split = 0; split < SPLIT_MAX; split++) {
		struct plan_shard shard;
		uint64_t index;

		if (!plan_find(fetch->plan, source, (enum split)split, item->key + prefix_bytes, &index))
			continue;
		*ret_known = true;
		shard = plan_shard(fetch->plan, source, (enum split)split, index);
		if (is_planned(fetch, &shard, item->name))
			return tag_of(source, (enum split)split, index);
	}
	return TAG_NONE;
}

uint64_t evict_tag(void *context, const struct cache_item *item)
{
	const struct shard_evictor *evictor = context;
	uint64_t tag = TAG_NONE;
	bool known = false;

	for (uint32_t i = 0; i < evictor->fetch->run.config.sources && tag == TAG_NONE; i++)
		if (cache_accepts_store(&evictor->fetch->run.config.source[i].store))
			tag = tag_in_source(evictor->fetch, i, item, &known);
	/* Another version of an object of the plan is outdated: evicted even where it is pinned. */
	return (tag != TAG_NONE || !known) && cache_pins_cover(&evictor->pins, item) ? CACHE_PINNED : tag;
}

/* ---- What to evict ---- */

static double use_of(const struct shard_evictor *evictor, uint64_t tag, uint32_t held)
{
	uint32_t source = (uint32_t)(tag >> (INDEX_BITS + 2)) & (PLAN_SOURCES_MAX - 1);
	enum split split = (enum split)(tag >> INDEX_BITS & 3);

	return next_use(evictor->fetch->plan, &evictor->cursor, source, split,
			tag & ((UINT64_C(1) << INDEX_BITS) - 1), held);
}

/* The rank of a file; the list evicts the highest ranks first. Three groups, each above the one before:
 * shards that this run reads again, by when it does; shards that it reads no more, by age; files of other
 * runs, by age. -1 = never evict: the rank is not above rank_below. */
static double rank(void *context, const struct cache_held *held)
{
	const struct shard_evictor *evictor = context;
	double age = difftime(time(NULL), (time_t)held->used_s), value;

	age = age < 0 ? 0 : age;
	value = held->tag == TAG_NONE ? INFINITY : use_of(evictor, held->tag, 0);
	if (isinf(value))
		value = (held->tag == TAG_NONE ? RANK_STRANGER : RANK_NEVER) + age;
	return value > evictor->rank_below ? value : -1;
}

static void note_cursor(struct shard_evictor *evictor)
{
	(void)pthread_mutex_lock(&evictor->fetch->lock);
	evictor->windows_held = 1 + evictor->fetch->windows->ahead;
	if (evictor->fetch->cursor)
		evictor->cursor = *evictor->fetch->cursor;
	(void)pthread_mutex_unlock(&evictor->fetch->lock);
}

int evict_reread(struct shard_evictor *evictor, bool first, struct error *err)
{
	if (!first && !cache_pins_changed(evictor->folder, &evictor->pins) &&
	    !cache_list_is_stale(&evictor->list, evictor->folder))
		return 0;
	if (cache_pins_load(evictor->folder, &evictor->pins, err) < 0)
		log_warning("pins of the cache: %s", err->text);
	return cache_list_read(&evictor->list, evictor->folder, evict_tag, evictor, err);
}

/* Returns the bytes that the cache may use: the configured budget, or less where the disk has less free
 * space. */
static uint64_t usable_bytes(const struct shard_evictor *evictor)
{
	const struct config *config = &evictor->fetch->run.config;
	uint64_t left = cache_free_bytes(evictor->folder), spare = config->fetch.cache_spare_bytes;
	uint64_t there = evictor->list.bytes, usable;

	if (left >= spare)
		usable = there + (left - spare);
	else
		usable = there > spare - left ? there - (spare - left) : 0;
	return usable < config->fetch.cache_bytes ? usable : config->fetch.cache_bytes;
}

static bool evict(struct shard_evictor *evictor, uint64_t least, uint64_t most)
{
	uint64_t freed;

	note_cursor(evictor);
	freed = cache_list_evict(&evictor->list, evictor->folder, least, most, rank, evictor);
	if (freed > 0)
		cache_list_changed(&evictor->list, evictor->folder);
	return freed >= least;
}

bool evict_for(struct shard_evictor *evictor, uint64_t bytes, uint64_t tag)
{
	uint64_t usable = usable_bytes(evictor), wanted = evictor->list.bytes + bytes;
	double use;

	if (wanted <= usable)
		return true;
	if (bytes > usable)
		return false;
	if (tag == CACHE_PINNED) {
		evictor->rank_below = 0;
	} else {
		note_cursor(evictor);
		use = use_of(evictor, tag, evictor->unread ? 0 : evictor->windows_held);
		/* The run does not read this shard again: never evict another shard of the run for it. */
		evictor->rank_below = isinf(use) ? RANK_STRANGER - 1 : use;
	}
	return evict(evictor, wanted - usable,
		     wanted - usable + evictor->fetch->run.config.fetch.cache_bytes / SLACK_PARTS);
}

void evict_excess(struct shard_evictor *evictor)
{
	uint64_t usable = usable_bytes(evictor);

	if (evictor->list.bytes <= usable)
		return;
	evictor->rank_below = 0;
	if (evict(evictor, 1, evictor->list.bytes - usable))
		log_notice("cache: evicted files, %" PRIu64
			   " bytes are left: its budget or its disk allows no more",
			   evictor->list.bytes);
}

bool evict_any(struct shard_evictor *evictor, uint64_t bytes)
{
	evictor->rank_below = 0;
	return evict(evictor, 1, bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "oneshot/preload/space.h"

#include <string.h>

const struct config_source *space_source_of(const struct space *space, const struct cache_pin *pin)
{
	for (uint32_t i = 0; i < space->config->sources; i++) {
		const struct config_source *source = &space->config->source[i];
		struct cache_strings strings;

		if (cache_accepts_store(&source->store) &&
		    cache_same_endpoint(pin->endpoint, source->store.endpoint) &&
		    strcmp(pin->bucket,
			   cache_object_of(&source->store, "", &(struct store_pin){ 0 }, &strings).bucket) ==
			    0)
			return source;
	}
	return NULL;
}

/* Decides whether a pin protects a file. A pin protects the objects that this preload has touched: the
 * current versions. Older versions, and objects that the store does not have any more, are not touched; no
 * run can use them, so they may be evicted although the pin covers their key. A pin whose bucket is not that
 * of any source was not listed: it protects every object that it covers. */
static uint64_t tag_of(void *context, const struct cache_item *item)
{
	const struct space *space = context;

	for (size_t i = 0; i < space->pins.count; i++)
		if (cache_pin_covers(&space->pins.pin[i], item) &&
		    (item->used_s >= space->started_s || !space_source_of(space, &space->pins.pin[i])))
			return CACHE_PINNED;
	return 0;
}

/* Returns the rank for eviction: -1 (never evict) for an object that this preload wants; else the time since
 * the last use, so that the object that was not used for the longest time is evicted first. */
static double age(void *context, const struct cache_held *held)
{
	const struct space *space = context;

	return held->used_s >= space->started_s ? -1 : (double)(space->started_s - held->used_s);
}

static uint64_t usable_bytes(const struct space *space)
{
	uint64_t free = cache_free_bytes(space->cache), spare = space->config->fetch.cache_spare_bytes;
	uint64_t usable = space->list.bytes + (free > spare ? free - spare : 0);

	return usable < space->config->fetch.cache_bytes ? usable : space->config->fetch.cache_bytes;
}

int space_look(struct space *space, struct error *err)
{
	return cache_list_read(&space->list, space->cache, tag_of, space, err);
}

/* Lists the cache again where another process has changed it: kiln-fetchd may fill the cache at the same
 * time. */
int space_make(struct space *space, uint64_t bytes, bool *ret_fits, struct error *err)
{
	uint64_t usable, wanted;
	int r = 0;

	if (cache_list_is_stale(&space->list, space->cache))
		r = space_look(space, err);
	usable = usable_bytes(space);
	*ret_fits = false;
	if (r < 0 || bytes > usable || space->coming > usable - bytes)
		return r;
	wanted = space->list.bytes + space->coming + bytes;
	*ret_fits = wanted <= usable;
	if (*ret_fits)
		return 0;
	*ret_fits = cache_list_evict(&space->list, space->cache, wanted - usable, wanted - usable, age,
				     space) > 0;
	if (*ret_fits)
		cache_list_changed(&space->list, space->cache);
	return 0;
}

int space_add(struct space *space, const struct cache_object *object, struct error *err)
{
	const struct cache_item item = { .endpoint = object->endpoint,
					 .bucket = object->bucket,
					 .key = object->key,
					 .used_s = space->started_s };
	char name[CACHE_NAME_BYTES];

	cache_name(object, name);
	cache_list_changed(&space->list, space->cache);
	return cache_list_add(&space->list, name, object->pin->bytes, tag_of(space, &item), err);
}

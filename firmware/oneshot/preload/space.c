/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/preload/preload.h"

#include <string.h>

const struct config_source *room_source_of(const struct room *room, const struct cache_pin *pin)
{
	for (uint32_t i = 0; i < room->config->sources; i++) {
		const struct config_source *source = &room->config->source[i];
		struct cache_room folders;

		if (cache_takes_store(&source->store) &&
		    cache_same_endpoint(pin->endpoint, source->store.endpoint) &&
		    strcmp(pin->bucket,
			   cache_object_of(&source->store, "", &(struct store_pin){ 0 }, &folders).bucket) ==
			    0)
			return source;
	}
	return NULL;
}

/* Of a pin that was listed, what the listing has: the count noted a use of that. An older version of an
 * object, or one that the store has no more, is of use to nobody. */
static uint64_t place_of(void *context, const struct cache_item *item)
{
	const struct room *room = context;

	for (size_t i = 0; i < room->pins.count; i++)
		if (cache_pin_covers(&room->pins.pin[i], item) &&
		    (item->used_s >= room->started_s || !room_source_of(room, &room->pins.pin[i])))
			return CACHE_PINNED;
	return 0;
}

/* What this very preload wants stays; of the rest, the longest unused goes first. */
static double age(void *context, const struct cache_held *held)
{
	const struct room *room = context;

	return held->used_s >= room->started_s ? -1 : (double)(room->started_s - held->used_s);
}

static uint64_t usable_bytes(const struct room *room)
{
	uint64_t free = cache_free_bytes(room->cache), spare = room->config->fetch.cache_spare_bytes;
	uint64_t usable = room->list.bytes + (free > spare ? free - spare : 0);

	return usable < room->config->fetch.cache_bytes ? usable : room->config->fetch.cache_bytes;
}

int room_look(struct room *room, struct error *err)
{
	return cache_list_read(&room->list, room->cache, place_of, room, err);
}

/* A run may fill the cache at the same time. */
int room_make(struct room *room, uint64_t bytes, bool *ret_room, struct error *err)
{
	uint64_t usable, wanted;
	int r = 0;

	if (cache_list_is_stale(&room->list, room->cache))
		r = room_look(room, err);
	usable = usable_bytes(room);
	wanted = room->list.bytes + room->coming + bytes;
	*ret_room = wanted <= usable;
	if (r < 0 || *ret_room || room->coming + bytes > usable)
		return r;
	*ret_room =
		cache_list_evict(&room->list, room->cache, wanted - usable, wanted - usable, age, room) > 0;
	if (*ret_room)
		cache_list_changed(&room->list, room->cache);
	return 0;
}

int room_add(struct room *room, const struct cache_object *object, struct error *err)
{
	const struct cache_item item = { .endpoint = object->endpoint,
					 .bucket = object->bucket,
					 .key = object->key,
					 .used_s = room->started_s };
	char name[CACHE_NAME_BYTES];

	cache_name(object, name);
	cache_list_changed(&room->list, room->cache);
	return cache_list_add(&room->list, name, object->pin->bytes, place_of(room, &item), err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cache/list.h"
#include "core/base/clock.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define LIST_FIRST 256u
/* least pause between two readings of the folder, as a multiple of the time that the last reading took */
#define REST_COSTS 10u

int cache_list_reserve(struct cache_list *list, size_t files, struct error *err)
{
	struct cache_held *larger;

	if (files <= list->capacity)
		return 0;
	larger = files <= SIZE_MAX / sizeof(*larger) ? realloc(list->item, files * sizeof(*larger)) : NULL;
	if (!larger)
		return error_set(err, -ENOMEM, "no memory for a list of %zu files of the cache", files);
	list->item = larger;
	list->capacity = files;
	return 0;
}

static int add(struct cache_list *list, const char *name, uint64_t bytes, int64_t used_s, uint64_t tag,
	       struct error *err)
{
	struct cache_held *held;
	int r = list->count < list->capacity
			? 0
			: cache_list_reserve(list, list->capacity ? list->capacity * 2 : LIST_FIRST, err);

	if (r < 0)
		return r;
	held = &list->item[list->count++];
	*held = (struct cache_held){ .bytes = bytes, .used_s = used_s, .tag = tag };
	memcpy(held->name, name, CACHE_NAME_BYTES);
	list->bytes += bytes;
	return 0;
}

int cache_list_add(struct cache_list *list, const char name[static CACHE_NAME_BYTES], uint64_t bytes,
		   uint64_t tag, struct error *err)
{
	return add(list, name, bytes, time(NULL), tag, err);
}

struct reading {
	struct cache_list *list;
	uint64_t (*tag)(void *context, const struct cache_item *item);
	void *context;
	struct error *err;
};

static int add_item(void *context, const struct cache_item *item)
{
	struct reading *reading = context;

	return add(reading->list, item->name, item->bytes, item->used_s, reading->tag(reading->context, item),
		   reading->err);
}

int cache_list_read(struct cache_list *list, const struct cache *cache,
		    uint64_t (*tag)(void *context, const struct cache_item *item), void *context,
		    struct error *err)
{
	struct reading reading = { list, tag, context, err };
	uint64_t began_us = clock_us();
	int r;

	list->count = 0;
	list->bytes = 0;
	list->mark = cache_mark(cache);
	r = cache_each(cache, add_item, &reading, err);
	list->read_us = clock_us();
	list->cost_us = list->read_us - began_us;
	return r;
}

bool cache_list_is_stale(const struct cache_list *list, const struct cache *cache)
{
	return cache_mark(cache) != list->mark && clock_us() - list->read_us >= REST_COSTS * list->cost_us;
}

/* Adopts the new mark only where the old one was that of the list. Otherwise another process has changed the
 * folder, too, and the list must be read again. */
void cache_list_changed(struct cache_list *list, const struct cache *cache)
{
	bool ours = cache_mark(cache) == list->mark;

	cache_changed(cache);
	if (ours)
		list->mark = cache_mark(cache);
}

void cache_list_done(struct cache_list *list)
{
	free(list->item);
	*list = (struct cache_list){ 0 };
}

static int by_rank_descending(const void *a, const void *b)
{
	const struct cache_held *x = a, *y = b;

	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

uint64_t cache_list_evict(struct cache_list *list, const struct cache *cache, uint64_t least, uint64_t most,
			  double (*rank)(void *context, const struct cache_held *held), void *context)
{
	uint64_t there = 0, freed = 0;
	size_t gone = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct cache_held *held = &list->item[i];

		held->rank = held->tag == CACHE_PINNED ? -1 : rank(context, held);
		there += held->rank >= 0 ? held->bytes : 0;
	}
	if (there < least)
		return 0;
	qsort(list->item, list->count, sizeof(*list->item), by_rank_descending);
	while (gone < list->count && list->item[gone].rank >= 0 && freed < most) {
		/* A file that cannot be removed leaves the list all the same; the next reading of the folder
		 * finds it again. */
		(void)cache_remove(cache, list->item[gone].name, NULL);
		freed += list->item[gone++].bytes;
	}
	memmove(list->item, list->item + gone, (list->count - gone) * sizeof(*list->item));
	list->count -= gone;
	list->bytes -= freed;
	return freed;
}

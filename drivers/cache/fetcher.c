/* SPDX-License-Identifier: Apache-2.0 */

#include "drivers/cache/fetcher.h"

#include <inttypes.h>
#include <string.h>

/* An object that is being fetched. It is freed after its last range was written or failed. */
struct item {
	char key[STORE_KEY_MAX + 1];
	struct store_pin pin;
	struct error err;           /* the first error of the object; code 0 = none */
	struct cache_writer writer; /* must be the last member, because it ends with a buffer for the label */
};

/* A range of an object. The fetcher's array of ranges is a circular buffer, in the order in which they were
 * requested. */
struct range {
	struct store_request request;
	struct item *item;
	char *buffer;
	bool done, last;
};

struct fetcher {
	struct config_store where;
	const struct cache *cache;
	struct store *store;
	uint64_t range_bytes;
	uint32_t ranges;
	struct item *current; /* the object of which some ranges are not requested yet; NULL = none */
	uint64_t head, tail;
	void (*awake)(void *context); /* NULL = none */
	void *awake_context;
	struct range range[];
};

static void item_free(struct item *item)
{
	if (item)
		cache_abandon(&item->writer);
	free(item);
}

void fetcher_closep(struct fetcher **fetcher)
{
	struct fetcher *f = *fetcher;

	if (!f)
		return;
	store_close(f->store);
	item_free(f->current);
	for (; f->tail != f->head; f->tail++) {
		struct range *range = &f->range[f->tail % f->ranges];

		if (range->last)
			item_free(range->item);
	}
	for (uint32_t i = 0; i < f->ranges; i++)
		free(f->range[i].buffer);
	free(f);
	*fetcher = NULL;
}

int fetcher_open(const struct config *config, const struct config_store *where, const struct cache *cache,
		 uint32_t ranges_max, struct fetcher **ret_fetcher, struct error *err)
{
	struct store_options options = store_options_of(config);
	uint64_t connections = config_fetch_connections(config);
	uint32_t ranges = connections < ranges_max ? (uint32_t)connections : ranges_max;
	CLEANUP(fetcher_closep)
	struct fetcher *f = calloc(1, sizeof(*f) + ranges * sizeof(f->range[0]));
	int r;

	if (!f)
		return error_set(err, -ENOMEM, "no memory for %u ranges", ranges);
	f->where = *where;
	f->cache = cache;
	f->range_bytes = config_fetch_part_bytes(config);
	if (f->range_bytes > FETCHER_RANGE_BYTES_MAX)
		f->range_bytes = FETCHER_RANGE_BYTES_MAX;
	f->ranges = ranges;
	options.connections = ranges;
	for (uint32_t i = 0; i < ranges; i++)
		if (!(f->range[i].buffer = malloc(f->range_bytes)))
			return error_set(err, -ENOMEM, "no memory for %u ranges of %" PRIu64 " bytes", ranges,
					 f->range_bytes);
	if ((r = store_open(where, &options, &f->store, err)) < 0)
		return r;
	*ret_fetcher = TAKE(f);
	return 0;
}

void fetcher_set_awake(struct fetcher *f, void (*awake)(void *context), void *context)
{
	f->awake = awake;
	f->awake_context = context;
}

static struct cache_object object_of(const struct fetcher *f, const struct item *item,
				     struct cache_strings *strings)
{
	return cache_object_of(&f->where, item->key, &item->pin, strings);
}

static int complete(struct fetcher *f, struct item *item, fetched_fn *each, void *context)
{
	struct cache_strings strings;
	struct cache_object object = object_of(f, item, &strings);
	int r = item->err.code;

	if (r == 0)
		r = cache_commit(&item->writer, &item->err);
	r = each(context, &object, r, &item->err);
	item_free(item);
	return r;
}

static void append_range(struct range *range)
{
	struct item *item = range->item;

	if (item->err.code)
		return;
	if (range->request.result < 0)
		item->err = range->request.err;
	else
		(void)!cache_append(&item->writer, range->buffer, range->request.bytes, &item->err);
}

/* Waits for the oldest range and appends it to its object. So the ranges of an object are written in order.
 */
static int settle_oldest(struct fetcher *f, fetched_fn *each, void *context, struct error *err)
{
	struct range *oldest = &f->range[f->tail % f->ranges];
	int r;

	while (!oldest->done) {
		struct store_request *done = NULL;

		r = store_poll(f->store, FETCHER_POLL_MS, &done, err);
		if (f->awake)
			f->awake(f->awake_context);
		if (r < 0)
			return r;
		if (done)
			((struct range *)done->context)->done = true;
	}
	f->tail++;
	append_range(oldest);
	return oldest->last ? complete(f, oldest->item, each, context) : 0;
}

/* Returns whether this was the object's last range; none comes after an error. */
static bool submit(struct fetcher *f, struct item *item, uint64_t offset)
{
	struct range *range = &f->range[f->head++ % f->ranges];
	uint64_t left = item->pin.bytes - offset;

	range->item = item;
	range->last = left <= f->range_bytes || item->err.code;
	range->request = (struct store_request){ .key = item->key,
						 .pin = &item->pin,
						 .offset = offset,
						 .bytes = left < f->range_bytes ? left : f->range_bytes,
						 .buffer = range->buffer,
						 .context = range };
	/* No request for an empty object, nor for an object that has failed already. */
	range->done = range->request.bytes == 0 || item->err.code;
	if (range->done)
		return range->last;
	range->request.result = store_submit(f->store, &range->request, &range->request.err);
	range->done = range->request.result < 0;
	return range->last;
}

int fetcher_add(struct fetcher *f, const char *key, const struct store_pin *pin, fetched_fn *each,
		void *context, struct error *err)
{
	struct item *item = calloc(1, sizeof(*item));
	struct cache_object object;
	struct cache_strings strings;
	uint64_t offset = 0;
	bool last = false;

	if (!item)
		return error_set(err, -ENOMEM, "no memory for an object");
	(void)snprintf(item->key, sizeof(item->key), "%s", key);
	item->pin = *pin;
	object = object_of(f, item, &strings);
	(void)!cache_create(f->cache, &object, &item->writer, &item->err);
	f->current = item;
	for (; !last; offset += f->range_bytes) {
		int r = f->head - f->tail == f->ranges ? settle_oldest(f, each, context, err) : 0;

		if (r != 0)
			return r;
		last = submit(f, item, offset);
	}
	f->current = NULL;
	return 0;
}

int fetcher_finish(struct fetcher *f, fetched_fn *each, void *context, struct error *err)
{
	int r = 0;

	while (r == 0 && f->tail != f->head)
		r = settle_oldest(f, each, context, err);
	return r;
}

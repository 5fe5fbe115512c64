/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/preload.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/paths.h"
#include "drivers/notify/notify.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define NOTE_US    500000u
#define GLOB_MAX   (2 * CONFIG_PREFIX_MAX + 2)
#define FAILED_MAX 100u /* objects that could not be had */

/* What preload.json says; drivers/cache/cache.h. */
struct counts {
	uint64_t objects, bytes;         /* that there are */
	uint64_t done, bytes_done;       /* of them, in the cache by now */
	uint64_t fetched, bytes_fetched; /* of these, from the store */
	uint64_t left_out, failed;       /* no room; not to be had */
};

struct preload {
	struct config config;
	struct cache *cache;
	struct cache_list list;
	uint64_t coming; /* bytes on their way, not in the list */
	struct cache_pins pins;
	struct counts counts;
	int64_t started_s;
	uint64_t started_us; /* Unix time, both */
	uint64_t noted_us;
	struct fetcher *fetcher; /* of the store in work; NULL: it is only counted */
	const struct config_store *where;
	/* The pin in work, or, of a source, all of them: what those before it cover was listed with them. */
	size_t pin;
	struct error *err;
};

/* ---- Progress ---- */

static void note(struct preload *p, const char *state, const char *text)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *line = NULL;
	const struct counts *c = &p->counts;
	char path[PATH_BYTES];
	struct error err;

	p->noted_us = clock_us();
	(void)cJSON_AddStringToObject(json, "state", state);
	(void)cJSON_AddItemToObject(json, "text", json_string(text));
	(void)json_add_u64(json, "started_us", p->started_us);
	(void)json_add_u64(json, "updated_s", (uint64_t)time(NULL));
	(void)json_add_u64(json, "objects", c->objects);
	(void)json_add_u64(json, "bytes", c->bytes);
	(void)json_add_u64(json, "objects_done", c->done);
	(void)json_add_u64(json, "bytes_done", c->bytes_done);
	(void)json_add_u64(json, "objects_fetched", c->fetched);
	(void)json_add_u64(json, "bytes_fetched", c->bytes_fetched);
	(void)json_add_u64(json, "left_out", c->left_out);
	(void)json_add_u64(json, "failed", c->failed);
	if (json_print_line(json, &line, &err) < 0 ||
	    file_write_durable(path_of(PATH_CACHE, CACHE_PRELOAD_FILE, path), line, strlen(line), &err) < 0)
		log_warning("%s", err.text);
}

static void note_now_and_then(struct preload *p)
{
	if (clock_us() - p->noted_us < NOTE_US)
		return;
	note(p, "running", "");
	notify_status("%" PRIu64 " of %" PRIu64 " objects", p->counts.done, p->counts.objects);
}

/* ---- Room ---- */

/* The first source whose store a pin lies in; NULL: none's. */
static const struct config_source *source_of_pin(const struct preload *p, const struct cache_pin *pin)
{
	for (uint32_t i = 0; i < p->config.sources; i++) {
		const struct config_source *source = &p->config.source[i];
		struct cache_room room;

		if (cache_takes_store(&source->store) &&
		    cache_same_endpoint(pin->endpoint, source->store.endpoint) &&
		    strcmp(pin->bucket,
			   cache_object_of(&source->store, "", &(struct store_pin){ 0 }, &room).bucket) == 0)
			return source;
	}
	return NULL;
}

/* Of a pin that was listed, what the listing has: the count noted a use of that. An older version of an
 * object, or one that the store has no more, is of use to nobody. */
static uint64_t place_of(void *context, const struct cache_item *item)
{
	const struct preload *p = context;

	for (size_t i = 0; i < p->pins.count; i++)
		if (cache_pin_covers(&p->pins.pin[i], item) &&
		    (item->used_s >= p->started_s || !source_of_pin(p, &p->pins.pin[i])))
			return CACHE_PINNED;
	return 0;
}

/* What this very preload wants stays; of the rest, the longest unused goes first. */
static double age(void *context, const struct cache_held *held)
{
	const struct preload *p = context;

	return held->used_s >= p->started_s ? -1 : (double)(p->started_s - held->used_s);
}

static uint64_t usable_bytes(const struct preload *p)
{
	uint64_t free = cache_free_bytes(p->cache), spare = p->config.fetch.cache_spare_bytes;
	uint64_t usable = p->list.bytes + (free > spare ? free - spare : 0);

	return usable < p->config.fetch.cache_bytes ? usable : p->config.fetch.cache_bytes;
}

/* A run may fill the cache at the same time. */
static int make_room(struct preload *p, uint64_t bytes, bool *ret_room)
{
	uint64_t usable, wanted;
	int r = 0;

	if (cache_list_is_stale(&p->list, p->cache))
		r = cache_list_read(&p->list, p->cache, place_of, p, p->err);
	usable = usable_bytes(p);
	wanted = p->list.bytes + p->coming + bytes;
	*ret_room = wanted <= usable;
	if (r < 0 || *ret_room || p->coming + bytes > usable)
		return r;
	*ret_room = cache_list_evict(&p->list, p->cache, wanted - usable, wanted - usable, age, p) > 0;
	if (*ret_room)
		cache_list_changed(&p->list, p->cache);
	return 0;
}

/* ---- Objects ---- */

static void is_there(struct preload *p, const struct cache_object *object)
{
	p->counts.done++;
	p->counts.bytes_done += object->pin->bytes;
}

static int arrived(struct preload *p, const struct cache_object *object)
{
	const struct cache_item item = { .endpoint = object->endpoint,
					 .bucket = object->bucket,
					 .key = object->key,
					 .used_s = p->started_s };
	char name[CACHE_NAME_BYTES];

	p->counts.fetched++;
	p->counts.bytes_fetched += object->pin->bytes;
	is_there(p, object);
	note_now_and_then(p);
	cache_name(object, name);
	cache_list_changed(&p->list, p->cache);
	return cache_list_add(&p->list, name, object->pin->bytes, place_of(p, &item), p->err);
}

static int fetched(void *context, const struct cache_object *object, int r, const struct error *err)
{
	struct preload *p = context;

	p->coming -= object->pin->bytes;
	if (r == 0)
		return arrived(p, object);
	log_warning("%s: %s", object->key, err->text);
	p->counts.failed++;
	if ((r == -ENOENT || r == -ESTALE) && p->counts.failed < FAILED_MAX)
		return 0;
	*p->err = *err;
	return r;
}

static int count(struct preload *p, const struct cache_object *object)
{
	p->counts.objects++;
	p->counts.bytes += object->pin->bytes;
	if (cache_touch(p->cache, object))
		is_there(p, object);
	return 0;
}

static int bring(struct preload *p, const struct cache_object *object, const char *key)
{
	bool room = false;
	int r;

	if (cache_touch(p->cache, object)) {
		is_there(p, object);
		return 0;
	}
	r = make_room(p, object->pin->bytes, &room);
	if (r < 0 || !room) {
		p->counts.left_out += !room;
		return r;
	}
	p->coming += object->pin->bytes;
	return fetcher_add(p->fetcher, key, object->pin, fetched, p, p->err);
}

static int each_object(void *context, const struct store_object *found)
{
	struct preload *p = context;
	struct cache_room room;
	struct cache_object object = cache_object_of(p->where, found->key, &found->pin, &room);
	const struct cache_item item = { .endpoint = object.endpoint,
					 .bucket = object.bucket,
					 .key = object.key };

	if (!cache_takes_pin(&found->pin))
		return 0;
	for (size_t i = 0; i < p->pin; i++)
		if (cache_pin_covers(&p->pins.pin[i], &item))
			return 0;
	return p->fetcher ? bring(p, &object, found->key) : count(p, &object);
}

/* ---- What the next run reads, and what is pinned ---- */

static int list(struct preload *p, const struct config_store *where, const char *glob, bool fetch)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_options options = store_options_of(&p->config);
	int r;

	if (!*glob)
		return 0;
	p->where = where;
	if ((r = store_open(where, &options, &store, p->err)) < 0 ||
	    (fetch && (r = fetcher_open(&p->config, where, p->cache, &p->fetcher, p->err)) < 0))
		return r;
	r = store_list(store, glob, each_object, p, p->err);
	if (r == 0 && p->fetcher)
		r = fetcher_finish(p->fetcher, fetched, p, p->err);
	fetcher_closep(&p->fetcher);
	return r;
}

/* A prefix as a glob: fnmatch(3) takes the character behind a backslash as it is. */
static void glob_of(const char *prefix, char out[static GLOB_MAX])
{
	size_t used = 0;

	for (; *prefix && used + 4 < GLOB_MAX; prefix++) {
		if (strchr("*?[\\", *prefix))
			out[used++] = '\\';
		out[used++] = *prefix;
	}
	(void)snprintf(out + used, GLOB_MAX - used, "*");
}

static int list_pin(struct preload *p, const struct cache_pin *pin, bool fetch)
{
	const struct config_source *source = source_of_pin(p, pin);
	char url[sizeof("s3://") + CONFIG_BUCKET_MAX], glob[GLOB_MAX];
	struct config_store bucket;

	if (!source)
		return 0;
	bucket = source->store;
	(void)snprintf(url, sizeof(url), "s3://%s", pin->bucket);
	bucket.url = url;
	glob_of(pin->prefix, glob);
	return list(p, &bucket, glob, fetch);
}

/* What is pinned comes first: there may not be room for all. */
static int list_all(struct preload *p, bool fetch)
{
	int r = 0;

	for (p->pin = 0; p->pin < p->pins.count; p->pin++)
		if ((r = list_pin(p, &p->pins.pin[p->pin], fetch)) < 0)
			return r;
	for (uint32_t i = 0; r == 0 && i < p->config.sources; i++) {
		const struct config_source *source = &p->config.source[i];

		if (!cache_takes_store(&source->store))
			continue;
		if ((r = list(p, &source->store, source->train_glob, fetch)) == 0 &&
		    p->config.split.by == SPLIT_BY_PREFIX)
			r = list(p, &source->store, source->validation_glob, fetch);
		if (r == 0)
			r = list(p, &source->store, source->test_glob, fetch);
	}
	return r;
}

/* Counted first, which notes a use of what is there, so that nothing of it has to go. */
static int preload(struct preload *p)
{
	char folder[PATH_BYTES];
	int r;

	if (p->config.fetch.cache_bytes == 0)
		return error_set(p->err, -EINVAL, "fetch.cache_bytes is 0: there is no cache to fill");
	r = cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, &p->cache, p->err);
	if (r < 0)
		return r;
	cache_sweep(p->cache);
	note(p, "running", "");
	if ((r = cache_pins_load(p->cache, &p->pins, p->err)) < 0 || (r = list_all(p, false)) < 0 ||
	    (r = cache_list_read(&p->list, p->cache, place_of, p, p->err)) < 0)
		return r;
	note(p, "running", "");
	/* A run may evict some that were there. */
	p->counts.done = p->counts.bytes_done = 0;
	r = list_all(p, true);
	if (r == 0 && p->counts.failed > 0)
		r = error_set(p->err, -ENOENT, "%" PRIu64 " of %" PRIu64 " objects could not be had",
			      p->counts.failed, p->counts.objects);
	return r;
}

static void say_done(struct preload *p)
{
	const struct counts *c = &p->counts;
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "%" PRIu64 " of %" PRIu64 " objects are in the cache, %" PRIu64 " bytes; %" PRIu64
		       " came from the store now%s",
		       c->done, c->objects, c->bytes_done, c->fetched,
		       c->left_out ? "; for the others there is no room below fetch.cache_bytes" : "");
	note(p, "finished", text);
	log_notice("%s", text);
}

static uint64_t unix_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
}

int oneshot_preload(int argc, char **argv)
{
	static struct error err;
	struct preload p = { .started_s = time(NULL), .started_us = unix_us(), .err = &err };
	int r = config_load(config_path(argc, argv), &p.config, &err);

	if (r == 0)
		r = preload(&p);
	if (r == 0)
		say_done(&p);
	else if (p.cache)
		note(&p, "failed", err.text);
	fetcher_closep(&p.fetcher);
	cache_list_done(&p.list);
	cache_pins_done(&p.pins);
	cache_closep(&p.cache);
	config_done(&p.config);
	return r < 0 ? fatal(&err) : EX_OK;
}

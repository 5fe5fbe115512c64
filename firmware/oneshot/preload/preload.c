/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/preload/preload.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/cache/fetcher.h"
#include "oneshot/preload/progress.h"
#include "oneshot/preload/space.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define GLOB_MAX   (2 * CONFIG_PREFIX_MAX + 2)
#define RANGES_MAX 16u  /* kiln-preload.service has MemoryMax=1G */
#define FAILED_MAX 100u /* the preload gives up after so many failed objects */

struct preload {
	struct config config;
	struct space space;
	struct progress progress;
	/* fetches objects of the store that is being listed; NULL in the first pass, which only counts
	 * objects */
	struct fetcher *fetcher;
	const struct config_store *where;
	/* number of pins that are listed already; objects that they cover are not counted again */
	size_t pin;
	struct error *err;
};

/* ---- Objects ---- */

static void is_there(struct preload *p, const struct cache_object *object)
{
	p->progress.done++;
	p->progress.bytes_done += object->pin->bytes;
}

static int arrived(struct preload *p, const struct cache_object *object)
{
	p->progress.fetched++;
	p->progress.bytes_fetched += object->pin->bytes;
	is_there(p, object);
	progress_note_now_and_then(&p->progress);
	return space_add(&p->space, object, p->err);
}

static int fetched(void *context, const struct cache_object *object, int r, const struct error *err)
{
	struct preload *p = context;

	p->space.coming -= object->pin->bytes;
	if (r == 0)
		return arrived(p, object);
	log_warning("%s: %s", object->key, err->text);
	p->progress.failed++;
	if ((r == -ENOENT || r == -ESTALE) && p->progress.failed < FAILED_MAX)
		return 0;
	*p->err = *err;
	return r;
}

static int count(struct preload *p, const struct cache_object *object)
{
	p->progress.objects++;
	if (__builtin_add_overflow(p->progress.bytes, object->pin->bytes, &p->progress.bytes))
		p->progress.bytes = UINT64_MAX;
	if (cache_touch(p->space.cache, object))
		is_there(p, object);
	return 0;
}

static int bring(struct preload *p, const struct cache_object *object, const char *key)
{
	bool fits = false;
	int r;

	if (cache_touch(p->space.cache, object)) {
		is_there(p, object);
		return 0;
	}
	r = space_make(&p->space, object->pin->bytes, &fits, p->err);
	if (r < 0 || !fits) {
		p->progress.left_out += !fits;
		return r;
	}
	p->space.coming += object->pin->bytes;
	return fetcher_add(p->fetcher, key, object->pin, fetched, p, p->err);
}

static int each_object(void *context, const struct store_object *found)
{
	struct preload *p = context;
	struct cache_strings strings;
	struct cache_object object = cache_object_of(p->where, found->key, &found->pin, &strings);
	const struct cache_item item = { .endpoint = object.endpoint,
					 .bucket = object.bucket,
					 .key = object.key };

	if (!cache_accepts_pin(&found->pin))
		return 0;
	for (size_t i = 0; i < p->pin; i++)
		if (cache_pin_covers(&p->space.pins.pin[i], &item))
			return 0;
	return p->fetcher ? bring(p, &object, found->key) : count(p, &object);
}

/* ---- What is pinned, and what the next run reads ---- */

static int list(struct preload *p, const struct config_store *where, const char *glob, bool fetch)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_options options = store_options_of(&p->config);
	int r;

	if (!*glob)
		return 0;
	p->where = where;
	if ((r = store_open(where, &options, &store, p->err)) < 0 ||
	    (fetch &&
	     (r = fetcher_open(&p->config, where, p->space.cache, RANGES_MAX, &p->fetcher, p->err)) < 0))
		return r;
	r = store_list_versions(store, glob, each_object, p, p->err);
	if (r == 0 && p->fetcher)
		r = fetcher_finish(p->fetcher, fetched, p, p->err);
	fetcher_closep(&p->fetcher);
	return r;
}

/* Turns a prefix into a glob: a backslash makes fnmatch(3) take the next character literally. */
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
	const struct config_source *source = space_source_of(&p->space, pin);
	char url[sizeof("lakefs:///") + CONFIG_BUCKET_MAX + CONFIG_REF_MAX], glob[GLOB_MAX];
	struct config_store bucket;
	struct config_lakefs parts;

	if (!source)
		return 0;
	bucket = source->store;
	if (config_lakefs(bucket.url, &parts))
		(void)snprintf(url, sizeof(url), "lakefs://%s/%s", parts.repository, parts.ref);
	else
		(void)snprintf(url, sizeof(url), "s3://%s", pin->bucket);
	bucket.url = url;
	glob_of(pin->prefix, glob);
	return list(p, &bucket, glob, fetch);
}

/* Lists pinned objects first, because the cache may not have space for all objects. */
static int list_all(struct preload *p, bool fetch)
{
	int r = 0;

	for (p->pin = 0; p->pin < p->space.pins.count; p->pin++)
		if ((r = list_pin(p, &p->space.pins.pin[p->pin], fetch)) < 0)
			return r;
	for (uint32_t i = 0; r == 0 && i < p->config.sources; i++) {
		const struct config_source *source = &p->config.source[i];

		if (!cache_accepts_store(&source->store))
			continue;
		if ((r = list(p, &source->store, source->train_glob, fetch)) == 0 &&
		    p->config.split.by == SPLIT_BY_PREFIX)
			r = list(p, &source->store, source->validation_glob, fetch);
		if (r == 0)
			r = list(p, &source->store, source->test_glob, fetch);
	}
	return r;
}

/* The first pass counts, and touches the objects that are in the cache, so that the second pass does not
 * evict them. */
static int preload(struct preload *p)
{
	char folder[PATH_BYTES];
	int r;

	if (p->config.fetch.cache_bytes == 0)
		return error_set(p->err, -EINVAL, "fetch.cache_bytes is 0: there is no cache to fill");
	r = cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, &p->space.cache, p->err);
	if (r < 0)
		return r;
	cache_sweep(p->space.cache);
	progress_note(&p->progress, "running", "");
	if ((r = cache_pins_load(p->space.cache, &p->space.pins, p->err)) < 0 ||
	    (r = list_all(p, false)) < 0 || (r = space_look(&p->space, p->err)) < 0)
		return r;
	progress_note(&p->progress, "running", "");
	/* The second pass counts these again, because a run may have evicted some of the objects meanwhile.
	 */
	p->progress.done = p->progress.bytes_done = 0;
	r = list_all(p, true);
	if (r == 0 && p->progress.failed > 0)
		r = error_set(p->err, -ENOENT, "%" PRIu64 " of %" PRIu64 " objects could not be fetched",
			      p->progress.failed, p->progress.objects);
	return r;
}

int oneshot_preload(int argc, char **argv)
{
	static struct error err;
	struct preload p = { .space.started_s = time(NULL),
			     .progress.started_us = clock_day_us(),
			     .err = &err };
	int r = config_load(config_path(argc, argv), &p.config, &err);

	p.space.config = &p.config;
	if (r == 0)
		r = preload(&p);
	if (r == 0)
		progress_note_finished(&p.progress);
	else if (p.space.cache)
		progress_note(&p.progress, "failed", err.text);
	fetcher_closep(&p.fetcher);
	cache_list_done(&p.space.list);
	cache_pins_done(&p.space.pins);
	cache_closep(&p.space.cache);
	config_done(&p.config);
	return r < 0 ? fatal(&err) : EX_OK;
}

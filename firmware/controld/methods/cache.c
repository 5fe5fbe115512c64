/* SPDX-License-Identifier: Apache-2.0 */
/* The methods on the cache of fetched objects: status, pin, drop, preload. controld has no index of the
 * cache: each cache.status reads the folder. */
#include "drivers/cache/cache.h"
#include "controld/call/steer.h"
#include "controld/methods/methods.h"
#include "controld/status/training.h"
#include "core/base/paths.h"
#include "core/config/config.h"
#include "drivers/cache/pins.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define PRELOAD_MAX   65536u
#define PIN_URL_BYTES (sizeof("s3://") + CONFIG_BUCKET_MAX + 1 + CONFIG_PREFIX_MAX + 1)

static int open_cache(struct call *call, enum cache_use use, struct cache **ret_cache, struct error *err)
{
	char folder[PATH_BYTES];
	int r = cache_open(path_of(PATH_CACHE, NULL, folder), use, ret_cache, err);

	if (r == -ENOENT)
		call->code = CONTROL_NOT_FOUND;
	return r;
}

/* ---- Status ---- */

struct amount {
	uint64_t objects, bytes;
};

struct tally {
	const struct cache_pins *pins;
	struct amount all, pinned;
	struct amount *of_pin;
};

static void add_to(struct amount *amount, uint64_t bytes)
{
	amount->objects++;
	amount->bytes += bytes;
}

static int tally_item(void *context, const struct cache_item *item)
{
	struct tally *tally = context;
	bool pinned = false;

	add_to(&tally->all, item->bytes);
	for (size_t i = 0; i < tally->pins->count; i++)
		if (cache_pin_covers(&tally->pins->pin[i], item)) {
			add_to(&tally->of_pin[i], item->bytes);
			pinned = true;
		}
	if (pinned)
		add_to(&tally->pinned, item->bytes);
	return 0;
}

static void add_amount(cJSON *object, const char *objects, const char *bytes, const struct amount *amount)
{
	(void)json_add_u64(object, objects, amount->objects);
	(void)json_add_u64(object, bytes, amount->bytes);
}

static void add_pins(cJSON *result, const struct tally *tally)
{
	cJSON *list = cJSON_AddArrayToObject(result, "pins");

	for (size_t i = 0; i < tally->pins->count; i++) {
		const struct cache_pin *pin = &tally->pins->pin[i];
		cJSON *one = cJSON_CreateObject();
		char url[PIN_URL_BYTES];

		(void)snprintf(url, sizeof(url), "s3://%s/%s", pin->bucket, pin->prefix);
		(void)cJSON_AddItemToObject(one, "url", json_string(url));
		add_amount(one, "objects", "bytes", &tally->of_pin[i]);
		(void)cJSON_AddItemToArray(list, one);
	}
}

/* Adds the cache's budget of kiln.conf, which applies to the next run: a run that has begun has a
 * configuration of its own. */
static void add_budget(cJSON *result)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err;

	if (config_load(config_path(0, NULL), &config, &err) == 0) {
		(void)json_add_u64(result, "budget_bytes", config.fetch.cache_bytes);
		(void)json_add_u64(result, "spare_bytes", config.fetch.cache_spare_bytes);
	} else {
		(void)cJSON_AddNullToObject(result, "budget_bytes");
		(void)cJSON_AddNullToObject(result, "spare_bytes");
	}
}

static void add_preload(cJSON *result)
{
	char path[PATH_BYTES];
	cJSON *preload = NULL;

	if (json_read(path_of(PATH_CACHE, CACHE_PRELOAD_FILE, path), PRELOAD_MAX, &preload, NULL) < 0)
		preload = cJSON_CreateNull();
	(void)cJSON_AddItemToObject(result, "preload", preload);
}

static int report(struct call *call, const struct cache *cache, const struct tally *tally, struct error *err)
{
	cJSON *result = cJSON_CreateObject();

	call->result = result;
	(void)json_add_u64(result, "time_s", (uint64_t)time(NULL));
	add_amount(result, "objects", "bytes", &tally->all);
	add_amount(result, "pinned_objects", "pinned_bytes", &tally->pinned);
	(void)json_add_u64(result, "free_bytes", cache_free_bytes(cache));
	add_budget(result);
	add_pins(result, tally);
	(void)cJSON_AddItemToObject(result, "run",
				    training_cache(watch_newest(&call->box->watch, STATUS_FETCHD)));
	add_preload(result);
	return result && cJSON_GetObjectItemCaseSensitive(result, "preload") ? 0 : call_no_memory(err);
}

int method_cache_status(struct call *call, struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	CLEANUP(cache_pins_done) struct cache_pins pins = { 0 };
	CLEANUP(free_ptr) struct amount *of_pin = NULL;
	struct tally tally = { .pins = &pins };
	int r;

	if ((r = open_cache(call, CACHE_READ, &cache, err)) < 0 ||
	    (r = cache_pins_load(cache, &pins, err)) < 0)
		return r;
	tally.of_pin = of_pin = calloc(pins.count ? pins.count : 1, sizeof(*of_pin));
	if (!of_pin)
		return call_no_memory(err);
	r = cache_each(cache, tally_item, &tally, err);
	return r < 0 ? r : report(call, cache, &tally, err);
}

/* ---- A prefix ---- */

struct prefix {
	struct config config;
	char bucket[CONFIG_BUCKET_MAX + 1], *url;
	struct cache_pin pin;
};

static void prefix_done(struct prefix *prefix)
{
	config_done(&prefix->config);
	free(prefix->url);
}

/* Returns the endpoint of the source in kiln.conf that reads from this bucket; NULL = there is no such
 * source. */
static const char *endpoint_of(const struct config *config, const char *bucket)
{
	for (uint32_t i = 0; i < config->sources; i++) {
		const struct config_store *store = &config->source[i].store;
		struct cache_strings strings;

		if (cache_accepts_store(store) &&
		    strcmp(cache_object_of(store, "", &(struct store_pin){ 0 }, &strings).bucket, bucket) ==
			    0)
			return store->endpoint;
	}
	return NULL;
}

static int prefix_parse(struct call *call, const char *text, struct prefix *prefix, struct error *err)
{
	const char *bucket, *slash, *endpoint;
	int r = config_load(config_path(0, NULL), &prefix->config, err);

	if (r < 0) {
		call->code = r == -ENOENT ? CONTROL_NOT_FOUND : CONTROL_CONFIG;
		return r;
	}
	call->code = CONTROL_PARAMS;
	bucket = strncmp(text, "s3://", 5) == 0 ? text + 5 : "";
	slash = bucket + strcspn(bucket, "/");
	if (slash == bucket || (size_t)(slash - bucket) > CONFIG_BUCKET_MAX)
		return error_set(err, -EINVAL, "prefix: found \"%.200s\", expected s3://bucket/prefix", text);
	(void)snprintf(prefix->bucket, sizeof(prefix->bucket), "%.*s", (int)(slash - bucket), bucket);
	endpoint = endpoint_of(&prefix->config, prefix->bucket);
	if (!endpoint)
		return error_set(err, -ENOENT, "prefix: no source of kiln.conf reads from the bucket \"%s\"",
				 prefix->bucket);
	prefix->url = strdup(*slash ? slash + 1 : slash);
	if (!prefix->url)
		return call_no_memory(err);
	prefix->pin = (struct cache_pin){ (char *)(uintptr_t)endpoint, prefix->bucket, prefix->url };
	call->code = CONTROL_INTERNAL;
	return 0;
}

/* ---- Acting ---- */

int method_cache_pin(struct call *call, struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	CLEANUP(cache_pins_done) struct cache_pins pins = { 0 };
	CLEANUP(prefix_done) struct prefix prefix = { 0 };
	bool on = !control_flag(&call->request, "remove");
	int r, changed;

	if ((r = prefix_parse(call, control_text(&call->request, "prefix", ""), &prefix, err)) < 0 ||
	    (r = open_cache(call, CACHE_WRITE, &cache, err)) < 0 ||
	    (r = cache_pins_load(cache, &pins, err)) < 0 ||
	    (r = changed = cache_pins_set(&pins, &prefix.pin, on, err)) < 0 ||
	    (changed && (r = cache_pins_save(cache, &pins, err)) < 0))
		return r;
	call->result = cJSON_CreateObject();
	return cJSON_AddBoolToObject(call->result, "changed", changed > 0) &&
			       json_add_u64(call->result, "pins", pins.count)
		       ? 0
		       : call_no_memory(err);
}

struct dropping {
	const struct cache *cache;
	const struct cache_pin *below; /* drop the objects below this prefix; NULL = drop all */
	struct amount gone;
};

static int drop_item(void *context, const struct cache_item *item)
{
	struct dropping *dropping = context;

	if ((!dropping->below || cache_pin_covers(dropping->below, item)) &&
	    cache_remove(dropping->cache, item->name, NULL) == 0)
		add_to(&dropping->gone, item->bytes);
	return 0;
}

/* Removes pins at or below the prefix: they would bring the dropped objects back. */
static int unpin(const struct cache *cache, const struct cache_pin *below, struct error *err)
{
	CLEANUP(cache_pins_done) struct cache_pins pins = { 0 };
	bool changed = false;
	int r = cache_pins_load(cache, &pins, err);

	for (size_t i = pins.count; r == 0 && i-- > 0;) {
		const struct cache_pin *pin = &pins.pin[i];
		const struct cache_item as_item = { .endpoint = pin->endpoint,
						    .bucket = pin->bucket,
						    .key = pin->prefix };

		if (below && !cache_pin_covers(below, &as_item))
			continue;
		r = cache_pins_set(&pins, &(struct cache_pin){ pin->endpoint, pin->bucket, pin->prefix },
				   false, err);
		changed |= r > 0;
		r = r < 0 ? r : 0;
	}
	return r < 0 || !changed ? r : cache_pins_save(cache, &pins, err);
}

int method_cache_drop(struct call *call, struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	CLEANUP(prefix_done) struct prefix prefix = { 0 };
	const char *text = control_text(&call->request, "prefix", "");
	bool all = control_flag(&call->request, "all");
	struct dropping dropping = { .below = all ? NULL : &prefix.pin };
	int r;

	if (all == (*text != '\0')) {
		call->code = CONTROL_PARAMS;
		return error_set(err, -EINVAL, "what to drop: either a prefix or all");
	}
	if ((!all && (r = prefix_parse(call, text, &prefix, err)) < 0) ||
	    (r = open_cache(call, CACHE_WRITE, &cache, err)) < 0 ||
	    (r = unpin(cache, dropping.below, err)) < 0)
		return r;
	dropping.cache = cache;
	if ((r = cache_each(cache, drop_item, &dropping, err)) < 0)
		return r;
	cache_changed(cache);
	call->result = cJSON_CreateObject();
	add_amount(call->result, "objects", "bytes", &dropping.gone);
	return call->result ? 0 : call_no_memory(err);
}

int method_cache_preload(struct call *call, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	const char *file = config_path(0, NULL);
	int r = config_load(file, &config, err);

	call->code = r == -ENOENT ? CONTROL_NOT_FOUND : CONTROL_CONFIG;
	if (r < 0)
		return r;
	if (config.fetch.cache_bytes == 0)
		return error_set(err, -EINVAL, "fetch.cache_bytes is 0: there is no cache to fill");
	r = call_result_true(call, "started", err);
	return r < 0 ? r : steer_say(call, "cache.preload", NULL, err);
}

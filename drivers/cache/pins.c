/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cache/pins.h"
#include "core/base/json.h"
#include "core/base/paths.h"
#include "drivers/cache/internal.h"

#include <string.h>
#include <sys/stat.h>

#define PINS_FILE    "pins.json"
#define PINS_VERSION 1

static uint64_t mark_of(const struct cache *cache)
{
	struct stat st;

	if (fstatat(cache->fd, PINS_FILE, &st, 0) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

static void pin_done(struct cache_pin *pin)
{
	free(pin->endpoint);
	free(pin->bucket);
	free(pin->prefix);
	*pin = (struct cache_pin){ 0 };
}

void cache_pins_done(struct cache_pins *pins)
{
	for (size_t i = 0; i < pins->count; i++)
		pin_done(&pins->pin[i]);
	free(pins->pin);
	*pins = (struct cache_pins){ 0 };
}

static bool same(const struct cache_pin *a, const struct cache_pin *b)
{
	return cache_same_endpoint(a->endpoint, b->endpoint) && strcmp(a->bucket, b->bucket) == 0 &&
	       strcmp(a->prefix, b->prefix) == 0;
}

static int append(struct cache_pins *pins, const struct cache_pin *pin, struct error *err)
{
	struct cache_pin copy = { strdup(pin->endpoint), strdup(pin->bucket), strdup(pin->prefix) };
	struct cache_pin *larger;

	if (pins->count == CACHE_PINS_MAX) {
		pin_done(&copy);
		return error_set(err, -E2BIG, "at most %u pins are possible", CACHE_PINS_MAX);
	}
	larger = realloc(pins->pin, (pins->count + 1) * sizeof(*larger));
	if (larger)
		pins->pin = larger;
	if (!larger || !copy.endpoint || !copy.bucket || !copy.prefix) {
		pin_done(&copy);
		return error_set(err, -ENOMEM, "no memory for a pin");
	}
	pins->pin[pins->count++] = copy;
	return 0;
}

int cache_pins_set(struct cache_pins *pins, const struct cache_pin *pin, bool on, struct error *err)
{
	int r;

	for (size_t i = 0; i < pins->count; i++) {
		if (!same(&pins->pin[i], pin))
			continue;
		if (on)
			return 0;
		pin_done(&pins->pin[i]);
		pins->pin[i] = pins->pin[--pins->count];
		return 1;
	}
	if (!on)
		return 0;
	r = append(pins, pin, err);
	return r < 0 ? r : 1;
}

bool cache_pin_covers(const struct cache_pin *pin, const struct cache_item *item)
{
	return cache_same_endpoint(pin->endpoint, item->endpoint) && strcmp(pin->bucket, item->bucket) == 0 &&
	       strncmp(pin->prefix, item->key, strlen(pin->prefix)) == 0;
}

bool cache_pins_cover(const struct cache_pins *pins, const struct cache_item *item)
{
	for (size_t i = 0; i < pins->count; i++)
		if (cache_pin_covers(&pins->pin[i], item))
			return true;
	return false;
}

/* ---- The file ---- */

static int read_pins(const char *path, const cJSON *json, struct cache_pins *pins, struct error *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "pins"), *one;

	if (!cJSON_IsArray(list))
		return error_set(err, -EBADMSG, "%s: expected a list \"pins\"", path);
	cJSON_ArrayForEach(one, list) {
		const char *endpoint, *bucket, *prefix;
		int r;

		if ((r = json_get_string(path, one, "endpoint", &endpoint, err)) < 0 ||
		    (r = json_get_string(path, one, "bucket", &bucket, err)) < 0 ||
		    (r = json_get_string(path, one, "prefix", &prefix, err)) < 0 ||
		    (r = cache_pins_set(pins,
					&(struct cache_pin){ (char *)(uintptr_t)endpoint,
							     (char *)(uintptr_t)bucket,
							     (char *)(uintptr_t)prefix },
					true, err)) < 0)
			return r;
	}
	return 0;
}

int cache_pins_load(const struct cache *cache, struct cache_pins *pins, struct error *err)
{
	CLEANUP(cache_pins_done) struct cache_pins found = { .mark = mark_of(cache) };
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	int r;

	(void)snprintf(path, sizeof(path), "%s/" PINS_FILE, cache->folder);
	r = json_read(path, JSON_BYTES_MAX, &json, err);
	if (r == 0)
		r = read_pins(path, json, &found, err);
	if (r < 0 && r != -ENOENT)
		return r;
	cache_pins_done(pins);
	*pins = found;
	found = (struct cache_pins){ 0 };
	return 0;
}

bool cache_pins_changed(const struct cache *cache, const struct cache_pins *pins)
{
	return mark_of(cache) != pins->mark;
}

int cache_pins_save(const struct cache *cache, const struct cache_pins *pins, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	cJSON *list = cJSON_AddNumberToObject(json, "version", PINS_VERSION)
			      ? cJSON_AddArrayToObject(json, "pins")
			      : NULL;
	char path[PATH_BYTES];
	int r;

	for (size_t i = 0; i < pins->count; i++) {
		cJSON *one = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(list, one) ||
		    !cJSON_AddStringToObject(one, "endpoint", pins->pin[i].endpoint) ||
		    !cJSON_AddStringToObject(one, "bucket", pins->pin[i].bucket) ||
		    !cJSON_AddStringToObject(one, "prefix", pins->pin[i].prefix))
			return error_set(err, -ENOMEM, "no memory for %zu pins", pins->count);
	}
	if (!list)
		return error_set(err, -ENOMEM, "no memory for pins");
	(void)snprintf(path, sizeof(path), "%s/" PINS_FILE, cache->folder);
	r = json_print(json, &text, err);
	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

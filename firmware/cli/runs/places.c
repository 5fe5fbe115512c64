/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/places.h"

#include "core/series/series.h"
#include "drivers/versions/versions_run.h"

#include <string.h>

#define STAMP_BYTES 15u /* an id ends with YYYYMMDD-HHMMSS; the names before it may differ */

const struct places_kind places_runs = { "", "/run.json", RUN_JSON_MAX, json_parse };
const struct places_kind places_series = { "series/", "/series.json", SERIES_JSON_MAX, series_parse };

static const char *stamp_of(const char *id)
{
	const size_t length = strlen(id);

	return length > STAMP_BYTES ? id + length - STAMP_BYTES : id;
}

int places_newest_first(const char *a, const char *b)
{
	const int order = strcmp(stamp_of(b), stamp_of(a));

	return order ? order : strcmp(b, a);
}

/* Copies the id out of the key of a record, "NAME-YYYYMMDD-HHMMSS/run.json" for example. Returns false for
 * another key. */
static bool id_of(const struct places_kind *kind, const char *key, char ret_id[static RUN_ID_BYTES])
{
	const size_t prefix = strlen(kind->prefix), name = strlen(kind->name);
	const char *stamp;
	size_t length;

	if (strncmp(key, kind->prefix, prefix) != 0)
		return false;
	key += prefix;
	length = strlen(key);
	if (length <= name + STAMP_BYTES || length - name >= RUN_ID_BYTES ||
	    strcmp(key + length - name, kind->name) != 0)
		return false;
	memcpy(ret_id, key, length - name);
	ret_id[length - name] = '\0';
	stamp = stamp_of(ret_id);
	return !strchr(ret_id, '/') && stamp[8] == '-' && strspn(stamp, "0123456789-") == STAMP_BYTES;
}

/* Inserts an id at its place; the oldest one leaves a full list. */
static int note_id(void *context, const struct store_object *object)
{
	struct places_found *found = context;
	char id[RUN_ID_BYTES];
	uint32_t at = found->count;

	if (!id_of(found->kind, object->key, id))
		return 0;
	while (at > 0 && places_newest_first(id, found->at[at - 1].id) < 0)
		at--;
	if (at == found->limit || (at > 0 && strcmp(id, found->at[at - 1].id) == 0))
		return 0;
	found->count += found->count < found->limit;
	memmove(&found->at[at + 1], &found->at[at], (found->count - 1 - at) * sizeof(found->at[0]));
	memcpy(found->at[at].id, id, sizeof(id));
	found->at[at].place = found->place;
	return 0;
}

static int find(const struct places *places, struct places_found *found, struct error *err)
{
	char glob[64];
	int r = 0;

	(void)snprintf(glob, sizeof(glob), "%s*%s", found->kind->prefix, found->kind->name);
	for (found->place = 0; r == 0 && found->place < places->count; found->place++)
		r = store_list(places->store[found->place], glob, note_id, found, err);
	return r;
}

int places_find(const struct places *places, const struct places_kind *kind, uint32_t limit,
		struct places_found *ret_found, struct error *err)
{
	*ret_found = (struct places_found){ .kind = kind, .limit = limit };
	ret_found->at = calloc(limit, sizeof(ret_found->at[0]));
	return ret_found->at ? find(places, ret_found, err)
			     : error_set(err, -ENOMEM, "no memory for %u rows", limit);
}

void places_found_done(struct places_found *found)
{
	free(found->at);
}

int place_get(struct store *place, const struct places_kind *kind, const char *id, cJSON **ret_record,
	      struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s%s%s", kind->prefix, id, kind->name);
	r = store_get_all(place, key, kind->bytes_max, &text, &bytes, err);
	return r < 0 ? r : kind->parse(key, text, bytes, ret_record, err);
}

/* ---- The places ---- */

void places_done(struct places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		store_close(places->store[i]);
}

int place_open(const struct config_store *where, struct store **ret_store, struct error *err)
{
	const struct store_options options = { 0 };

	return store_open(where, &options, ret_store, err);
}

int places_open(const struct config *config, struct places *places, struct error *err)
{
	char into[CONFIG_REF_MAX + 1], own[CONFIG_REF_MAX + 1];
	int r = 0;

	*places = (struct places){ .where = { versions_merge_target(config), config->sink } };
	places->count = strcmp(versions_branch_of(&places->where[0], into),
			       versions_branch_of(&places->where[1], own)) == 0
				? 1
				: PLACES_MAX;
	for (uint32_t i = 0; r == 0 && i < places->count; i++)
		r = place_open(&places->where[i], &places->store[i], err);
	return r;
}

int places_get(const struct places *places, const struct places_kind *kind, const char *id,
	       cJSON **ret_record, struct error *err)
{
	int r = -ENOENT;

	for (uint32_t i = 0; r == -ENOENT && i < places->count; i++)
		r = place_get(places->store[i], kind, id, ret_record, err);
	return r;
}

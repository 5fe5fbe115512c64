/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/stored.h"

#include "core/run/run.h"
#include "core/run/run_summary.h"
#include "drivers/store/store.h"

#include <string.h>

#define RECORD_NAME "/run.json"
#define STAMP_BYTES 15u /* an id ends with YYYYMMDD-HHMMSS; the names before it may differ */

/* The newest ids so far, newest first. */
struct found {
	char (*id)[RUN_ID_BYTES];
	uint32_t count, limit;
};

static const char *stamp_of(const char *id)
{
	const size_t length = strlen(id);

	return length > STAMP_BYTES ? id + length - STAMP_BYTES : id;
}

int stored_newest_first(const char *a, const char *b)
{
	const int order = strcmp(stamp_of(b), stamp_of(a));

	return order ? order : strcmp(b, a);
}

/* Copies the id out of the key of a run's record, "NAME-YYYYMMDD-HHMMSS/run.json". Returns false for another
 * key. */
static bool id_of(const char *key, char ret_id[static RUN_ID_BYTES])
{
	const size_t length = strlen(key), name = strlen(RECORD_NAME);
	const char *stamp;

	if (length <= name + STAMP_BYTES || length - name >= RUN_ID_BYTES ||
	    strcmp(key + length - name, RECORD_NAME) != 0)
		return false;
	memcpy(ret_id, key, length - name);
	ret_id[length - name] = '\0';
	stamp = stamp_of(ret_id);
	return !strchr(ret_id, '/') && stamp[8] == '-' && strspn(stamp, "0123456789-") == STAMP_BYTES;
}

/* Inserts an id at its place; the oldest one leaves a full list. */
static int note_run(void *context, const struct store_object *object)
{
	struct found *found = context;
	char id[RUN_ID_BYTES];
	uint32_t at = found->count;

	if (!id_of(object->key, id))
		return 0;
	while (at > 0 && stored_newest_first(id, found->id[at - 1]) < 0)
		at--;
	if (at == found->limit)
		return 0;
	found->count += found->count < found->limit;
	memmove(&found->id[at + 1], &found->id[at], (found->count - 1 - at) * sizeof(found->id[0]));
	memcpy(found->id[at], id, sizeof(id));
	return 0;
}

static cJSON *row_of(struct store *sink, const char *id)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	char key[STORE_KEY_MAX];
	struct error err = { 0 };
	uint64_t bytes;
	cJSON *row;

	(void)snprintf(key, sizeof(key), "%s" RECORD_NAME, id);
	if (store_get_all(sink, key, RUN_JSON_MAX, &text, &bytes, &err) == 0)
		(void)!json_parse(key, text, bytes, &record, &err);
	row = run_summary(record);
	cJSON_DeleteItemFromObjectCaseSensitive(row, "id"); /* the key of the record is the id in the store */
	(void)cJSON_AddItemToObject(row, "id", json_string(id));
	if (err.code)
		(void)cJSON_AddItemToObject(row, "error", json_string(err.text));
	return row;
}

int stored_runs(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(json_free) cJSON *rows = cJSON_CreateArray();
	struct found found = { .limit = limit };
	CLEANUP(free_ptr) void *ids = found.id = calloc(limit, sizeof(found.id[0]));
	const struct store_options options = { 0 };
	int r;

	if (!ids || !rows)
		return error_set(err, -ENOMEM, "no memory for %u runs", limit);
	if ((r = store_open(&config->sink, &options, &sink, err)) < 0 ||
	    (r = store_list(sink, "*" RECORD_NAME, note_run, &found, err)) < 0)
		return r;
	for (uint32_t i = 0; i < found.count; i++)
		(void)cJSON_AddItemToArray(rows, row_of(sink, found.id[i]));
	*ret_rows = TAKE(rows);
	return 0;
}

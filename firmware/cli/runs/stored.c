/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/stored.h"

#include "core/run/run.h"
#include "core/run/run_summary.h"
#include "core/series/series.h"
#include "drivers/store/store.h"
#include "drivers/versions/versions_run.h"

#include <string.h>

#define STAMP_BYTES 15u /* an id ends with YYYYMMDD-HHMMSS; the names before it may differ */

/* A kind of record below the sink; PREFIX ID NAME is the key of such a record. */
struct kind {
	const char *prefix, *name;
	uint64_t bytes_max;
	int (*parse)(const char *what, const char *text, uint64_t bytes, cJSON **ret_record,
		     struct error *err);
	/* Makes a row of a list; `record`: NULL where it cannot be read. */
	cJSON *(*row)(const cJSON *record);
};

/* The newest ids so far, newest first. */
struct found {
	const struct kind *kind;
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

/* Copies the id out of the key of a record, "NAME-YYYYMMDD-HHMMSS/run.json" for example. Returns false for
 * another key. */
static bool id_of(const struct kind *kind, const char *key, char ret_id[static RUN_ID_BYTES])
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
	struct found *found = context;
	char id[RUN_ID_BYTES];
	uint32_t at = found->count;

	if (!id_of(found->kind, object->key, id))
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

static int find(struct store *sink, struct found *found, struct error *err)
{
	char glob[64];

	(void)snprintf(glob, sizeof(glob), "%s*%s", found->kind->prefix, found->kind->name);
	return store_list(sink, glob, note_id, found, err);
}

static int get(struct store *sink, const struct kind *kind, const char *id, cJSON **ret_record,
	       struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s%s%s", kind->prefix, id, kind->name);
	r = store_get_all(sink, key, kind->bytes_max, &text, &bytes, err);
	return r < 0 ? r : kind->parse(key, text, bytes, ret_record, err);
}

static cJSON *row_of(struct store *sink, const struct kind *kind, const char *id)
{
	CLEANUP(json_free) cJSON *record = NULL;
	struct error err = { 0 };
	cJSON *row;

	(void)!get(sink, kind, id, &record, &err);
	row = kind->row(record);
	cJSON_DeleteItemFromObjectCaseSensitive(row, "id"); /* the key of the record is the id in the store */
	(void)cJSON_AddItemToObject(row, "id", json_string(id));
	if (err.code)
		(void)cJSON_AddItemToObject(row, "error", json_string(err.text));
	return row;
}

static int open_sink(const struct config *config, struct store **ret_sink, struct error *err)
{
	const struct store_options options = { 0 };
	const struct config_store where = versions_merge_target(config);

	return store_open(&where, &options, ret_sink, err);
}

static int rows_of(const struct config *config, const struct kind *kind, uint32_t limit, cJSON **ret_rows,
		   struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(json_free) cJSON *rows = cJSON_CreateArray();
	struct found found = { .kind = kind, .limit = limit };
	CLEANUP(free_ptr) void *ids = found.id = calloc(limit, sizeof(found.id[0]));
	int r;

	if (!ids || !rows)
		return error_set(err, -ENOMEM, "no memory for %u rows", limit);
	if ((r = open_sink(config, &sink, err)) < 0 || (r = find(sink, &found, err)) < 0)
		return r;
	for (uint32_t i = 0; i < found.count; i++)
		(void)cJSON_AddItemToArray(rows, row_of(sink, kind, found.id[i]));
	*ret_rows = TAKE(rows);
	return 0;
}

/* ---- Runs ---- */

/* Makes the row of a run: the summary, who worked on the run, and its series and trial. */
static cJSON *run_row(const cJSON *record)
{
	static const char *const keys[] = { "machine", "series" };
	cJSON *row = run_summary(record);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_member(record, keys[i]))
			(void)cJSON_AddItemToObject(row, keys[i],
						    cJSON_Duplicate(json_member(record, keys[i]), true));
	return row;
}

static const struct kind runs = { "", "/run.json", RUN_JSON_MAX, json_parse, run_row };

int stored_runs(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err)
{
	return rows_of(config, &runs, limit, ret_rows, err);
}

/* ---- Series ---- */

static cJSON *series_row(const cJSON *series)
{
	return series ? series_summary(series) : cJSON_CreateObject();
}

static const struct kind series_kind = { "series/", "/series.json", SERIES_JSON_MAX, series_parse,
					 series_row };

int stored_series(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err)
{
	return rows_of(config, &series_kind, limit, ret_rows, err);
}

int stored_one_series(const struct config *config, const char *id, cJSON **ret_series, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	char newest[1][RUN_ID_BYTES] = { "" };
	struct found found = { .kind = &series_kind, .id = newest, .limit = 1 };
	int r = open_sink(config, &sink, err);

	if (r == 0 && !id)
		r = find(sink, &found, err);
	if (r == 0 && !id && found.count == 0)
		r = error_set(err, -ENOENT, "%s: has no series", store_url(sink));
	return r < 0 ? r : get(sink, &series_kind, id ? id : newest[0], ret_series, err);
}

/* ---- One run ---- */

/* Gets the record of a trial from its branch, where this is a trial of the series. */
static int get_of_trial(const struct config *config, const cJSON *series, const char *id, cJSON **ret_record,
			struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	const struct store_options options = { 0 };
	struct config_store where = config->sink;
	const int index = series_find_run(series, id);
	int r;

	if (index < 0)
		return -ENOENT;
	versions_trial_branch(series_id(series), series_text(series_trial(series, (uint32_t)index), "name"),
			      where.at);
	r = store_open(&where, &options, &sink, err);
	return r < 0 ? r : get(sink, &runs, id, ret_record, err);
}

/* Looks for the run among the trials of the newest series. An error of a record is no reason to stop. */
static int get_from_branch(const struct config *config, struct store *sink, const char *id,
			   cJSON **ret_record)
{
	char newest[SERIES_KEPT_MAX][RUN_ID_BYTES] = { "" };
	struct found found = { .kind = &series_kind, .id = newest, .limit = SERIES_KEPT_MAX };
	int r = find(sink, &found, NULL);

	for (uint32_t i = 0; r == 0 && i < found.count; i++) {
		CLEANUP(json_free) cJSON *series = NULL;

		if (get(sink, &series_kind, found.id[i], &series, NULL) == 0 &&
		    get_of_trial(config, series, id, ret_record, NULL) == 0)
			return 0;
	}
	return -ENOENT;
}

int stored_run(const struct config *config, const char *id, cJSON **ret_record, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	int r = open_sink(config, &sink, err);

	if (r < 0)
		return r;
	r = get(sink, &runs, id, ret_record, err);
	return r == -ENOENT && versions_has_branches(&config->sink) &&
			       get_from_branch(config, sink, id, ret_record) == 0
		       ? 0
		       : r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/stored.h"

#include "cli/runs/places.h"
#include "core/run/run_summary.h"
#include "core/series/series.h"
#include "drivers/versions/versions.h"

#include <string.h>

/* The rows of a list. */
struct rows {
	const struct places_kind *kind;
	/* Makes a row; `record`: NULL where it cannot be read. */
	cJSON *(*row)(const cJSON *record);
};

static cJSON *row_of(struct store *sink, const struct rows *rows, const char *id)
{
	CLEANUP(json_free) cJSON *record = NULL;
	struct error err = { 0 };
	cJSON *row;

	(void)!place_get(sink, rows->kind, id, &record, &err);
	row = rows->row(record);
	cJSON_DeleteItemFromObjectCaseSensitive(row, "id"); /* the key of the record is the id in the store */
	(void)cJSON_AddItemToObject(row, "id", json_string(id));
	if (err.code)
		(void)cJSON_AddItemToObject(row, "error", json_string(err.text));
	return row;
}

/* ---- Rows ---- */

static int list(const struct places *places, const struct rows *rows, uint32_t limit, cJSON **ret_list,
		struct error *err)
{
	CLEANUP(places_found_done) struct places_found found = { 0 };
	CLEANUP(json_free) cJSON *list = cJSON_CreateArray();
	int r = places_find(places, rows->kind, limit, &found, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < found.count; i++)
		(void)cJSON_AddItemToArray(list,
					   row_of(places->store[found.at[i].place], rows, found.at[i].id));
	*ret_list = TAKE(list);
	return 0;
}

static const char *id_in(const cJSON *row)
{
	return series_text(row, "id");
}

bool stored_insert(cJSON *rows, cJSON *row)
{
	cJSON *other, *after = NULL;

	cJSON_ArrayForEach(other, rows) {
		if (strcmp(id_in(other), id_in(row)) == 0)
			return false;
		if (!after && !cJSON_IsTrue(json_member(other, "current")) &&
		    places_newest_first(id_in(row), id_in(other)) < 0)
			after = other;
	}
	json_insert_before(rows, row, after);
	return true;
}

void stored_trim(cJSON *rows, uint64_t limit)
{
	while ((uint64_t)cJSON_GetArraySize(rows) > limit)
		cJSON_DeleteItemFromArray(rows, cJSON_GetArraySize(rows) - 1);
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

static const struct rows runs = { &places_runs, run_row };

/* Makes the row of a trial from the record of its series: the trial's own is on its branch, while that is
 * there. */
static cJSON *trial_row(const cJSON *series, const cJSON *trial)
{
	cJSON *row = cJSON_Duplicate(json_member(trial, "summary"), true), *of;

	(void)series_set(row, "id", json_string(series_text(trial, "run")));
	if (*series_text(series, "machine"))
		(void)series_set(row, "machine", json_string(series_text(series, "machine")));
	of = cJSON_AddObjectToObject(row, "series");
	(void)cJSON_AddItemToObject(of, "id", json_string(series_id(series)));
	(void)cJSON_AddItemToObject(of, "trial", json_string(series_text(trial, "name")));
	return row;
}

static void add_trials(const cJSON *series, cJSON *rows)
{
	for (uint32_t i = 0; i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);
		cJSON *row;

		if (!*series_text(trial, "run") || !cJSON_IsObject(json_member(trial, "summary")))
			continue;
		row = trial_row(series, trial);
		if (row && !stored_insert(rows, row))
			cJSON_Delete(row);
	}
}

/* Adds the trials that have no record in these places. A series that cannot be read adds none. */
static int add_trials_of_all(const struct places *places, uint32_t limit, cJSON *rows, struct error *err)
{
	CLEANUP(places_found_done) struct places_found found = { 0 };
	int r = places_find(places, &places_series, limit, &found, err);

	for (uint32_t i = 0; r == 0 && i < found.count; i++) {
		CLEANUP(json_free) cJSON *series = NULL;

		if (place_get(places->store[found.at[i].place], &places_series, found.at[i].id, &series,
			      NULL) == 0)
			add_trials(series, rows);
		stored_trim(rows, limit);
	}
	return r;
}

int stored_runs(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err)
{
	CLEANUP(places_done) struct places places = { 0 };
	CLEANUP(json_free) cJSON *rows = NULL;
	int r = places_open(config, &places, err);

	if (r < 0 || (r = list(&places, &runs, limit, &rows, err)) < 0)
		return r;
	if (versions_has_branches(&config->sink) && (r = add_trials_of_all(&places, limit, rows, err)) < 0)
		return r;
	*ret_rows = TAKE(rows);
	return 0;
}

/* ---- Series ---- */

static cJSON *series_row(const cJSON *series)
{
	return series ? series_summary(series) : cJSON_CreateObject();
}

static const struct rows series = { &places_series, series_row };

int stored_series(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err)
{
	CLEANUP(places_done) struct places places = { 0 };
	int r = places_open(config, &places, err);

	return r < 0 ? r : list(&places, &series, limit, ret_rows, err);
}

int stored_one_series(const struct config *config, const char *id, cJSON **ret_series, struct error *err)
{
	CLEANUP(places_done) struct places places = { 0 };
	CLEANUP(places_found_done) struct places_found found = { 0 };
	int r = places_open(config, &places, err);

	if (r == 0 && !id)
		r = places_find(&places, &places_series, 1, &found, err);
	if (r == 0 && !id && found.count == 0)
		r = error_set(err, -ENOENT, "%s: has no series", store_url(places.store[0]));
	return r < 0 ? r : places_get(&places, &places_series, id ? id : found.at[0].id, ret_series, err);
}

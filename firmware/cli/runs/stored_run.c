/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runs/stored.h"

#include "cli/runs/places.h"
#include "core/series/series.h"
#include "drivers/versions/versions_run.h"

/* Where a run is, and its record. */
struct place {
	struct config_store where;
	cJSON *record;
};

/* Looks for a run on the branch of its trial, where it is one of the series. */
static int look_on_branch(const struct config *config, const cJSON *series, const char *id,
			  struct place *place)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	const int index = series_find_run(series, id);

	if (index < 0)
		return -ENOENT;
	place->where = config->sink;
	versions_trial_branch(series_id(series), series_text(series_trial(series, (uint32_t)index), "name"),
			      place->where.at);
	return place_open(&place->where, &sink, NULL) < 0
		       ? -ENOENT
		       : place_get(sink, &places_runs, id, &place->record, NULL);
}

/* Looks for the run among the trials of the newest series. An error of a record is no reason to stop. */
static int look_on_branches(const struct config *config, const struct places *places, const char *id,
			    struct place *place)
{
	CLEANUP(places_found_done) struct places_found found = { 0 };
	int r = places_find(places, &places_series, SERIES_KEPT_MAX, &found, NULL);

	for (uint32_t i = 0; r == 0 && i < found.count; i++) {
		CLEANUP(json_free) cJSON *series = NULL;

		if (place_get(places->store[found.at[i].place], &places_series, found.at[i].id, &series,
			      NULL) == 0 &&
		    look_on_branch(config, series, id, place) == 0)
			return 0;
	}
	return -ENOENT;
}

static int look(const struct config *config, const char *id, struct place *place, struct error *err)
{
	CLEANUP(places_done) struct places places = { 0 };
	int r = places_open(config, &places, err);

	for (uint32_t i = 0; r == 0 && !place->record && i < places.count; i++) {
		place->where = places.where[i];
		r = place_get(places.store[i], &places_runs, id, &place->record, err);
		r = r == -ENOENT && i + 1 < places.count ? 0 : r;
	}
	return r == -ENOENT && versions_has_branches(&config->sink) &&
			       look_on_branches(config, &places, id, place) == 0
		       ? 0
		       : r;
}

int stored_run(const struct config *config, const char *id, cJSON **ret_record, struct error *err)
{
	struct place place = { 0 };
	int r = look(config, id, &place, err);

	if (r == 0)
		*ret_record = place.record;
	return r;
}

int stored_run_sink(const struct config *config, const char *id, struct config_store *ret_sink,
		    struct error *err)
{
	struct place place = { 0 };
	int r;

	*ret_sink = config->sink;
	if (!versions_has_branches(&config->sink))
		return 0;
	r = look(config, id, &place, err);
	json_free(&place.record);
	if (r == 0)
		*ret_sink = place.where;
	return r;
}

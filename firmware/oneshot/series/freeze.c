/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/freeze.h"
#include "core/series/trials.h"
#include "drivers/cache/room.h"
#include "model/learn/objective.h"

/* ---- The record ---- */

static bool add_trial(cJSON *list, const struct trial *trial)
{
	cJSON *row = cJSON_CreateObject();

	return cJSON_AddItemToArray(list, row) && cJSON_AddStringToObject(row, "name", trial->name) &&
	       cJSON_AddItemToObject(row, "overrides", cJSON_Duplicate(trial->overrides, true)) &&
	       cJSON_AddStringToObject(row, "state", trial_state_name(TRIAL_WAITING)) &&
	       cJSON_AddStringToObject(row, "run", "") && cJSON_AddNumberToObject(row, "rung", 0) &&
	       cJSON_AddArrayToObject(row, "rungs") && cJSON_AddNumberToObject(row, "epochs", 0) &&
	       cJSON_AddNullToObject(row, "value") && cJSON_AddNumberToObject(row, "best_epoch", 0);
}

static bool fill(cJSON *series, const struct config *config, const char *text, const char *before,
		 const struct trials *trials)
{
	const char *direction = objective_maximizes(config) ? "max" : "min";
	cJSON *list;
	bool good = cJSON_AddStringToObject(series, "method", trials->method) &&
		    cJSON_AddStringToObject(series, "objective", objective_text(config)) &&
		    cJSON_AddStringToObject(series, "direction", direction) &&
		    json_add_u64(series, "seed", trials->seed) && json_add_u64(series, "ends_s", 0) &&
		    json_add_u64(series, "cache_bytes",
				 config->fetch.cache_bytes ? config->fetch.cache_bytes : cache_room()) &&
		    cJSON_AddStringToObject(series, "config", text) &&
		    cJSON_AddNumberToObject(series, "slots", 1) &&
		    cJSON_AddStringToObject(series, "before", before) &&
		    cJSON_AddNullToObject(series, "winner") && cJSON_AddNullToObject(series, "promotion");

	list = cJSON_AddArrayToObject(series, "trials");
	for (uint32_t i = 0; good && i < trials->count; i++)
		good = add_trial(list, &trials->trial[i]);
	return good && list;
}

int freeze_series(const char *file, const char *before, cJSON **ret_series, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(trials_done) struct trials trials = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *series = cJSON_CreateObject();
	int r;

	if ((r = config_load(file, &config, err)) < 0 ||
	    (r = file_read(file, RUN_JSON_MAX, &text, NULL, err)) < 0 ||
	    (r = trials_make(file, &trials, err)) < 0)
		return r;
	if (!fill(series, &config, text, before, &trials))
		return error_set(err, -ENOMEM, "series.json: no memory");
	r = series_create(config.run.name, series, err);
	if (r == 0)
		*ret_series = TAKE(series);
	return r;
}

/* ---- Configurations ---- */

/* Writes the frozen configuration beside series.json, where it is missing, for those who read a file. */
static int config_file(const cJSON *series, char path[static PATH_BYTES], struct error *err)
{
	int r = file_exists(series_file(series_id(series), SERIES_CONFIG_FILE, path), err);

	return r != 0 ? (r < 0 ? r : 0) : run_write_locked(path, series_text(series, "config"), err);
}

int freeze_config(const cJSON *series, struct config *ret_config, struct error *err)
{
	char path[PATH_BYTES];
	int r = config_file(series, path, err);

	return r < 0 ? r : config_load(path, ret_config, err);
}

int freeze_trial(const cJSON *series, uint32_t trial, const char *path, struct config *ret_config,
		 struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	char frozen[PATH_BYTES];
	int r = config_file(series, frozen, err);

	if (r < 0 || (r = trials_config(frozen, json_member(series_trial(series, trial), "overrides"),
					&config, err)) < 0)
		return r;
	if (config.fetch.cache_bytes == 0 &&
	    (r = json_get_u64("series.json", series, "cache_bytes", &config.fetch.cache_bytes, err)) < 0)
		return r;
	if ((r = config_print(&config, &text, err)) < 0 || (r = run_write_locked(path, text, err)) < 0)
		return r;
	*ret_config = config;
	config.memory = NULL;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/winner.h"

#include "core/series/series.h"
#include "drivers/store/store.h"
#include "drivers/versions/versions_run.h"
#include "model/config_text.h"

#include <string.h>

const char *winner_series(const struct winner *winner)
{
	return winner->series ? series_id(winner->series) : "";
}

/* ---- A series ---- */

/* Chooses the trial `name`, or the winner of the series where it is "". */
static int take_trial(struct winner *winner, const char *name, struct error *err)
{
	const char *best = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(winner->series, "winner"));
	const char *wanted = *name ? name : best, *run;
	int at, r;

	if (!wanted)
		return error_set(err, -ENOENT, "%s: the series has no winner", winner_series(winner));
	at = series_find_trial(winner->series, wanted);
	if (at < 0)
		return error_set(err, -ENOENT, "%s: the series has no trial %s", winner_series(winner),
				 wanted);
	r = json_get_string(wanted, series_trial(winner->series, (uint32_t)at), "run", &run, err);
	if (r < 0)
		return r;
	if (!*run)
		return error_set(err, -ENOENT, "%s: the trial %s has not run", winner_series(winner), wanted);
	(void)snprintf(winner->run_id, sizeof(winner->run_id), "%s", run);
	(void)snprintf(winner->trial, sizeof(winner->trial), "%s", wanted);
	/* Where this disk has no record of the run any more, the branch of the trial has it. */
	if (*series_text(winner->series, "sink_commit"))
		versions_trial_branch(winner_series(winner), wanted, winner->config.sink.at);
	return 0;
}

static int take_series(struct winner *winner, const char *id, const char *trial, struct error *err)
{
	const char *config;
	int r = series_load(id, &winner->series, err);

	if (r < 0)
		return r;
	if (!series_is_final(winner->series))
		return error_set(err, -EAGAIN, "%s: the series has not ended", id);
	if ((r = json_get_string(id, winner->series, "config", &config, err)) < 0 ||
	    (r = config_text_load(config, &winner->config, err)) < 0)
		return r;
	return take_trial(winner, trial, err);
}

/* ---- A run ---- */

/* Loads run.json from this disk. Errors: -ENOENT this disk does not have it. */
static int load_record(const char *id, cJSON **ret_record, struct error *err)
{
	CLEANUP(json_free) cJSON *current = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	int r = run_record(&current, err);

	if (r == 0 && (!*id || strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(current, "id")),
				      id) == 0)) {
		*ret_record = TAKE(current);
		return 0;
	}
	if (!*id)
		return r;
	r = run_json_archived(id, &text, err);
	return r < 0 ? r : json_parse("run.json", text, strlen(text), ret_record, err);
}

/* Loads run.json from the run's folder in a store. */
static int fetch_from(const struct winner *winner, const struct config_store *where, cJSON **ret_record,
		      struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char key[RUN_ID_BYTES + 16];
	uint64_t bytes;
	int r = store_open(where, &options, &store, err);

	(void)snprintf(key, sizeof(key), "%s/run.json", winner->run_id);
	if (r < 0 || (r = store_get_all(store, key, RUN_JSON_MAX, &text, &bytes, err)) < 0)
		return r;
	return json_parse(key, text, bytes, ret_record, err);
}

/* Loads run.json from the sink. Where the branch of a trial is gone, the branch merged into may have it. */
static int fetch_record(const struct winner *winner, cJSON **ret_record, struct error *err)
{
	const struct config_store merged = versions_merge_target(&winner->config);
	int r = fetch_from(winner, &winner->config.sink, ret_record, err);

	return r == -ENOENT && *winner->config.sink.at ? fetch_from(winner, &merged, ret_record, err) : r;
}

/* Loads the configuration that says where a run without a series has its files. */
static int load_config(struct winner *winner, struct error *err)
{
	const char *text;
	int r;

	if (!winner->record)
		return config_load(config_path(0, NULL), &winner->config, err);
	r = json_get_string("run.json", winner->record, "config", &text, err);
	return r < 0 ? r : config_text_load(text, &winner->config, err);
}

static int check_finished(const struct winner *winner, struct error *err)
{
	const char *state;
	int r = json_get_string("run.json", winner->record, "state", &state, err);

	if (r < 0 || strcmp(state, run_state_name(RUN_FINISHED)) == 0)
		return r;
	for (int i = 0; i < RUN_STATE_MAX; i++)
		if (!run_state_is_final((enum run_state)i) &&
		    strcmp(state, run_state_name((enum run_state)i)) == 0)
			return error_set(err, -EAGAIN, "%s: the run is %s: it has not ended", winner->run_id,
					 state);
	return error_set(err, -EINVAL, "%s: the run is %s: it has no finished model", winner->run_id, state);
}

/* ---- Which ---- */

/* Takes the current run, or the series that it belongs to. */
static int take_current(struct winner *winner, const char *trial, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const char *series, *id;
	int r = load_record("", &record, err);

	if (r < 0)
		return r;
	series = cJSON_GetStringValue(json_member(record, "series.id"));
	if (series)
		return take_series(winner, series, trial, err);
	if ((r = json_get_string("run.json", record, "id", &id, err)) < 0)
		return r;
	(void)snprintf(winner->run_id, sizeof(winner->run_id), "%s", id);
	return 0;
}

static int take(struct winner *winner, const struct promote_request *request, struct error *err)
{
	int r;

	if (!*request->series)
		return take_current(winner, request->trial, err);
	r = take_series(winner, request->series, request->trial, err);
	if (r != -ENOENT || winner->series || *request->trial)
		return r;
	(void)snprintf(winner->run_id, sizeof(winner->run_id), "%s", request->series);
	return 0;
}

int winner_find(const struct promote_request *request, struct winner *ret_winner, struct error *err)
{
	int r = take(ret_winner, request, err);

	if (r < 0)
		return r;
	r = load_record(ret_winner->run_id, &ret_winner->record, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (!ret_winner->series && (r = load_config(ret_winner, err)) < 0)
		return r;
	if (!ret_winner->record && (r = fetch_record(ret_winner, &ret_winner->record, err)) < 0)
		return r;
	return check_finished(ret_winner, err);
}

void winner_done(struct winner *winner)
{
	json_free(&winner->series);
	json_free(&winner->record);
	config_done(&winner->config);
}

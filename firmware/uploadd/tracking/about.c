/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/about.h"
#include "core/base/url.h"
#include "core/series/series.h"
#include "core/series/settings.h"
#include "core/series/trials.h"
#include "uploadd/tracking/files.h"

#include <string.h>

/* Only what every file must have: the other keys have their defaults. */
static const char defaults_text[] = "run: { name = \"-\"; };\n"
				    "source: { url = \"file:///-\"; };\n"
				    "sink: { url = \"file:///-\"; };\n";

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (text && *text)
		(void)cJSON_AddItemToObject(object, key, json_string(text));
}

static void add_member(cJSON *object, const char *key, const cJSON *record, const char *path)
{
	add_text(object, key, cJSON_GetStringValue(json_member(record, path)));
}

/* ---- Parameters ---- */

static bool is_of_layers(const char *key)
{
	return strncmp(key, "model.layers", strlen("model.layers")) == 0;
}

static void add_param(cJSON *params, const char *key, const cJSON *value)
{
	CLEANUP(free_ptr) char *text = setting_text(value);

	if (!cJSON_HasObjectItem(params, key))
		add_text(params, key, text);
}

static cJSON *params_of(const cJSON *record)
{
	CLEANUP(json_free) cJSON *settings = NULL;
	CLEANUP(json_free) cJSON *defaults = NULL;
	const char *config = cJSON_GetStringValue(json_member(record, "config"));
	cJSON *params = cJSON_CreateObject();
	const cJSON *item;

	/* Overrides come first, so that their text stands for a key that the configuration has, too. */
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(record, "overrides"))
		add_param(params, item->string, item);
	/* A configuration of a later version may have keys that this one does not know. */
	if (!config || settings_of(config, &settings, NULL) < 0 ||
	    settings_of(defaults_text, &defaults, NULL) < 0)
		return params;
	cJSON_ArrayForEach(item, settings) {
		const bool is_default =
			cJSON_Compare(item, cJSON_GetObjectItemCaseSensitive(defaults, item->string), true);

		if (trials_may_vary(item->string) && (!is_default || is_of_layers(item->string)))
			add_param(params, item->string, item);
	}
	return params;
}

/* ---- A run ---- */

cJSON *about_run(const struct run *run, const cJSON *record)
{
	cJSON *about = cJSON_CreateObject();
	const struct config *config = &run->config;

	cJSON_AddStringToObject(about, "url", config->tracking.url);
	cJSON_AddStringToObject(about, "credential", config->tracking.credential);
	cJSON_AddStringToObject(about, "ca_file", config->tracking.ca_file);
	cJSON_AddStringToObject(about, "experiment",
				*config->tracking.experiment ? config->tracking.experiment
							     : config->run.name);
	cJSON_AddStringToObject(about, "name", run->id);
	cJSON_AddStringToObject(about, "tag", ABOUT_RUN_TAG);
	cJSON_AddNumberToObject(about, "started_ms", (double)run->started_s * 1e3);
	add_member(about, "series", record, "series.id");
	cJSON_AddItemToObject(about, "params", params_of(record));
	return about;
}

static void add_url(cJSON *tags, const char *key, const struct run *run, const char *tail)
{
	char url[PATH_BYTES];

	add_text(tags, key, url_below(url, sizeof(url), run->config.sink.url, "%s%s", run->id, tail));
}

static const char *status_of(const char *state)
{
	if (strcmp(state, run_state_name(RUN_FINISHED)) == 0)
		return "finished";
	if (strcmp(state, run_state_name(RUN_FAILED)) == 0)
		return "failed";
	return strcmp(state, run_state_name(RUN_PRUNED)) == 0 ? "killed" : "running";
}

static cJSON *now_of(const char *status, int64_t now_ms, cJSON *tags)
{
	cJSON *now = cJSON_CreateObject();

	cJSON_AddStringToObject(now, "status", status);
	cJSON_AddNumberToObject(now, "ended_ms", strcmp(status, "running") == 0 ? 0 : (double)now_ms);
	(void)cJSON_AddItemToObject(now, "tags", tags);
	return now;
}

cJSON *about_run_now(const struct run *run, const cJSON *record, int64_t now_ms)
{
	cJSON *tags = cJSON_CreateObject();
	const char *state = files_text(record, "state");

	add_text(tags, ABOUT_RUN_TAG, run->id);
	add_text(tags, "kiln.state", state);
	add_member(tags, "kiln.reason", record, "reason");
	add_member(tags, "kiln.version", record, "kiln_version");
	add_member(tags, "kiln.build", record, "kiln_build");
	add_member(tags, "kiln.series", record, "series.id");
	add_member(tags, "kiln.trial", record, "series.trial");
	add_member(tags, "kiln.device", record, "device");
	add_member(tags, "kiln.plan_sha256", record, "plan_sha256");
	add_text(tags, "mlflow.source.name", "kiln");
	add_url(tags, "kiln.url", run, "");
	if (strcmp(state, run_state_name(RUN_FINISHED)) == 0)
		add_url(tags, "kiln.model_url", run, "/model");
	return now_of(status_of(state), now_ms, tags);
}

/* ---- A series ---- */

cJSON *about_series(const cJSON *trial, const char *id, const cJSON *series)
{
	static const char *const where[] = { "url", "credential", "ca_file", "experiment" };
	static const char *const params[] = { "method", "objective", "direction", "seed" };
	cJSON *about = cJSON_CreateObject(), *list = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		cJSON_AddStringToObject(about, where[i], files_text(trial, where[i]));
	cJSON_AddStringToObject(about, "name", id);
	cJSON_AddStringToObject(about, "tag", ABOUT_SERIES_TAG);
	cJSON_AddNumberToObject(about, "started_ms",
				series ? files_number(series, "started_s") * 1e3
				       : files_number(trial, "started_ms"));
	for (size_t i = 0; series && i < sizeof(params) / sizeof(params[0]); i++)
		add_param(list, params[i], cJSON_GetObjectItemCaseSensitive(series, params[i]));
	cJSON_AddItemToObject(about, "params", list);
	return about;
}

cJSON *about_series_now(const char *id, const cJSON *series, int64_t now_ms)
{
	cJSON *tags = cJSON_CreateObject();
	const char *state = series ? files_text(series, "state") : run_state_name(RUN_FINISHED);

	add_text(tags, ABOUT_SERIES_TAG, id);
	add_text(tags, "kiln.state", state);
	add_text(tags, "mlflow.source.name", "kiln");
	add_member(tags, "kiln.reason", series, "reason");
	add_member(tags, "kiln.version", series, "kiln_version");
	add_member(tags, "kiln.winner", series, "winner");
	add_member(tags, "kiln.promotion", series, "promotion.outcome");
	return now_of(status_of(state), now_ms, tags);
}

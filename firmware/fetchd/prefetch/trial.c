/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/prefetch/trial.h"

#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/series/next.h"
#include "data/plan_config.h"
#include "preflight/plan_list.h"

#include <string.h>

#define PLAN_NAME "next.plan" /* in the cache's folder; removed as soon as it is open */

/* ---- Its configuration ---- */

/* Loads the series that the run is a trial of. Returns 1; 0 where it is a trial of none. */
static int load_series(cJSON **ret_series, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const char *id;
	int r = run_record(&record, err);

	if (r < 0)
		return r;
	id = series_text(json_member(record, "series"), "id");
	if (!*id)
		return 0;
	r = series_load(id, ret_series, err);
	return r < 0 ? r : 1;
}

static int configure(const cJSON *series, const cJSON *trial, struct config *ret_config, struct error *err)
{
	char path[PATH_BYTES];
	int r = trials_config(series_file(series_id(series), SERIES_CONFIG_FILE, path),
			      json_member(trial, "overrides"), ret_config, err);

	return r < 0 || ret_config->fetch.cache_bytes > 0 ? r
							  : json_get_u64("series.json", series, "cache_bytes",
									 &ret_config->fetch.cache_bytes, err);
}

/* Gives a lakefs:// source the commit that the run reads at the same url, as all trials read the same one.
 * False: the run does not read there. */
static bool fix_commit(const struct config *run, struct config_store *store)
{
	struct config_lakefs parts;

	if (!config_lakefs(store->url, &parts))
		return true;
	for (uint32_t i = 0; i < run->sources; i++)
		if (strcmp(run->source[i].store.url, store->url) == 0) {
			memcpy(store->at, run->source[i].store.at, sizeof(store->at));
			return true;
		}
	return false;
}

static bool fix_commits(const struct config *run, struct config *config)
{
	for (uint32_t i = 0; i < config->sources; i++)
		if (!fix_commit(run, &config->source[i].store))
			return false;
	return true;
}

/* ---- Its plan ---- */

static bool same_source(const struct config_source *a, const struct config_source *b)
{
	return strcmp(a->store.url, b->store.url) == 0 && strcmp(a->store.endpoint, b->store.endpoint) == 0 &&
	       strcmp(a->train_glob, b->train_glob) == 0 &&
	       strcmp(a->validation_glob, b->validation_glob) == 0 &&
	       strcmp(a->test_glob, b->test_glob) == 0 && a->format == b->format;
}

/* Whether both have the same shards in each split. */
static bool same_data(const struct config *a, const struct config *b)
{
	if (a->sources != b->sources || a->split.by != b->split.by ||
	    a->split.validation_percent != b->split.validation_percent)
		return false;
	for (uint32_t i = 0; i < a->sources; i++)
		if (!same_source(&a->source[i], &b->source[i]))
			return false;
	return true;
}

static int list(const struct config *config, void (*awake)(void *context), struct plan **ret_plan,
		struct error *err)
{
	struct store_options options = store_options_of(config);
	char path[PATH_BYTES];
	int r;

	options.awake = awake;
	r = plan_list(config, &options, path_of(PATH_CACHE, PLAN_NAME, path), err);
	if (r < 0)
		return r;
	r = plan_open(path, ret_plan, err);
	(void)unlink(path);
	return r;
}

static int make_plan(const struct fetch *fetch, const struct config *config, void (*awake)(void *context),
		     struct plan **ret_plan, struct error *err)
{
	const struct plan_settings settings = plan_settings_for(config);
	char path[PATH_BYTES];
	int r;

	if (!same_data(&fetch->run.config, config))
		return list(config, awake, ret_plan, err);
	r = plan_open(path_of(PATH_RUN, "plan", path), ret_plan, err);
	if (r == 0)
		plan_reorder(*ret_plan, &settings);
	return r;
}

/* ---- Interface ---- */

int prefetch_trial_find(const struct fetch *fetch, void (*awake)(void *context),
			struct prefetch_trial *ret_trial, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	CLEANUP(prefetch_trial_done) struct prefetch_trial found = { 0 };
	const cJSON *trial;
	int index, r = load_series(&series, err);

	if (r <= 0 || (index = next_after(series, slot_now())) < 0)
		return r < 0 ? r : 0;
	trial = series_trial(series, (uint32_t)index);
	(void)snprintf(found.name, sizeof(found.name), "%s", series_text(trial, "name"));
	if ((r = configure(series, trial, &found.config, err)) < 0)
		return r;
	if (!fix_commits(&fetch->run.config, &found.config))
		return 0;
	if ((r = make_plan(fetch, &found.config, awake, &found.plan, err)) < 0)
		return r;
	*ret_trial = found;
	found.plan = NULL;
	found.config.memory = NULL;
	return 1;
}

void prefetch_trial_done(struct prefetch_trial *trial)
{
	plan_close(trial->plan);
	config_done(&trial->config);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/versions_run.h"

#include <string.h>

#define NAME_BYTES 64u

int versions_sink_open(const struct config *config, const struct store_options *options,
		       struct versions **ret_versions, struct error *err)
{
	return versions_open(&config->sink, options, ret_versions, err);
}

struct config_store versions_merge_target(const struct config *config)
{
	struct config_store into = config->sink;

	into.at[0] = '\0';
	if (versions_has_branches(&into))
		(void)snprintf(into.at, sizeof(into.at), "%s", config->branches.merge_into);
	return into;
}

void versions_trial_branch(const char *series, const char *trial, char out[static CONFIG_REF_MAX + 1])
{
	(void)snprintf(out, CONFIG_REF_MAX + 1, "exp-%s-%s", series, trial);
}

void versions_promotion_branch(const char *run_id, char out[static CONFIG_REF_MAX + 1])
{
	(void)snprintf(out, CONFIG_REF_MAX + 1, "promote-%s", run_id);
}

/* ---- Metadata ---- */

static bool add_text(cJSON *metadata, const char *key, const cJSON *text)
{
	return !cJSON_IsString(text) || !*text->valuestring ||
	       cJSON_AddStringToObject(metadata, key, text->valuestring);
}

/* Adds a number by a format for a double. A number beyond 2^53 is a text in the record. */
static bool add_number(cJSON *metadata, const char *key, const char *format, const cJSON *number)
{
	char text[NAME_BYTES];

	if (!cJSON_IsNumber(number))
		return add_text(metadata, key, number);
	(void)snprintf(text, sizeof(text), format, number->valuedouble);
	return cJSON_AddStringToObject(metadata, key, text);
}

static bool add_metrics(cJSON *metadata, const cJSON *metrics)
{
	const cJSON *split, *figure;
	char key[2 * NAME_BYTES];

	cJSON_ArrayForEach(split, metrics)
		cJSON_ArrayForEach(figure, split) {
			(void)snprintf(key, sizeof(key), "kiln.%.60s.%.60s", split->string, figure->string);
			if (!add_number(metadata, key, "%.9g", figure))
				return false;
		}
	return true;
}

static cJSON *metadata_of(const struct run *run, const cJSON *record)
{
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();
	const bool made = cJSON_AddStringToObject(metadata, "kiln.run_id", run->id) &&
			  add_text(metadata, "kiln.series", json_member(record, "series.id")) &&
			  add_text(metadata, "kiln.trial", json_member(record, "series.trial")) &&
			  add_text(metadata, "kiln.state", json_member(record, "state")) &&
			  add_text(metadata, "kiln.plan_sha256", json_member(record, "plan_sha256")) &&
			  add_number(metadata, "kiln.seed", "%.0f", json_member(record, "seed")) &&
			  add_metrics(metadata, json_member(record, "metrics"));

	return made ? TAKE(metadata) : NULL;
}

/* ---- Calls ---- */

int versions_sink_commit(const struct config *config, const struct config_store *where, const char *key,
			 const char *text, const struct store_options *options, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();
	char branch[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r;

	if (!versions_has_branches(where))
		return 0;
	if (!cJSON_AddStringToObject(metadata, key, text))
		return error_set(err, -ENOMEM, "no memory for a commit");
	if ((r = versions_sink_open(config, options, &versions, err)) < 0)
		return r;
	r = versions_commit(versions, versions_branch_of(where, branch), text, metadata, false, id, err);
	return r == -ENODATA ? 0 : r;
}

int versions_run_branch(const struct run *run, const struct store_options *options, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	CLEANUP(json_free) cJSON *mine = cJSON_CreateObject();
	int r;

	if (!*run->branch_from)
		return 0;
	if (!cJSON_AddStringToObject(mine, "kiln.run_id", run->id))
		return error_set(err, -ENOMEM, "%s: no memory for its branch", run->id);
	r = versions_sink_open(&run->config, options, &versions, err);
	return r < 0 ? r : versions_branch(versions, run->config.sink.at, run->branch_from, mine, err);
}

int versions_run_find(struct versions *versions, const char *branch, const char *run_id, struct error *err)
{
	static const char *const keys[] = { "kiln.run_id", "kiln.promoted" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
		CLEANUP(json_free) cJSON *mine = cJSON_CreateObject();
		char id[VERSIONS_ID_BYTES];

		if (!cJSON_AddStringToObject(mine, keys[i], run_id))
			return error_set(err, -ENOMEM, "%s: no memory for its commit", run_id);
		r = versions_find_commit(versions, branch, mine, id, err);
	}
	return r == -ENOENT ? 0 : r;
}

int versions_run_is_on_branch(const struct run *run, const struct store_options *options, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	int r;

	if (!*run->branch_from)
		return 1;
	r = versions_sink_open(&run->config, options, &versions, err);
	return r < 0 ? r : versions_run_find(versions, run->config.sink.at, run->id, err);
}

/* Commits the run's branch. Where there is nothing to commit, and no commit of this run, makes one without
 * changes. */
static int commit_run(struct versions *versions, const struct run *run, const char *message,
		      const cJSON *metadata, struct error *err)
{
	char branch[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r;

	(void)versions_branch_of(&run->config.sink, branch);
	r = versions_commit(versions, branch, message, metadata, false, id, err);
	if (r != -ENODATA)
		return r;
	if ((r = versions_run_find(versions, branch, run->id, err)) != 0)
		return r < 0 ? r : 0;
	return versions_commit(versions, branch, message, metadata, true, id, err);
}

int versions_run_commit(const struct run *run, const cJSON *record, const struct store_options *options,
			struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	CLEANUP(json_free) cJSON *metadata = metadata_of(run, record);
	char message[2 * RUN_ID_BYTES];
	int r;

	if (!versions_has_branches(&run->config.sink))
		return 0;
	if (!metadata)
		return error_set(err, -ENOMEM, "%s: no memory for its commit", run->id);
	(void)snprintf(message, sizeof(message), "%s: %s", run->id, run_state_name(run->state));
	r = versions_sink_open(&run->config, options, &versions, err);
	return r < 0 ? r : commit_run(versions, run, message, metadata, err);
}

int versions_run_sink(const struct config *config, const cJSON *record, struct config_store *ret_sink,
		      struct error *err)
{
	const struct store_options options = store_options_of(config);
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char from[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r;

	*ret_sink = config->sink;
	if ((r = run_branch_use("run.json", record, ret_sink, from, err)) < 0 || !*from)
		return r;
	if ((r = versions_sink_open(config, &options, &versions, err)) < 0)
		return r;
	r = versions_resolve(versions, ret_sink->at, id, err);
	if (r == -ENOENT) {
		*ret_sink = versions_merge_target(config);
		return 0;
	}
	return r;
}

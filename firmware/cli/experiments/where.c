/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/experiments/where.h"

#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/host.h"
#include "cli/runs/stored.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "core/series/series.h"

#include <errno.h>
#include <string.h>

#define LIST_MAX      1000u /* most series of a store; each is one request */
#define ID_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

const struct verb_option experiments_options[] = {
	{ .name = "store", .help = "read what lies below sink.url, also of other boxes; asks no box" },
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "with --store, configuration whose sink.url is read; default: the box's own" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

int experiments_open(const struct arguments *arguments, struct experiments *ret)
{
	const char *file = arguments_text(arguments, "config");
	struct experiments experiments = { .stored = arguments_have(arguments, "store") };
	struct error err = { 0 };

	if (file && !experiments.stored)
		return cli_usage(arguments->name, "--config is for --store");
	if (experiments.stored && client_used())
		return cli_usage(arguments->name,
				 "--store reads the store from this machine: --host is not expected here");
	if (experiments.stored &&
	    config_load(file ? file : config_path(0, NULL), &experiments.config, &err) < 0)
		return cli_error(&err);
	*ret = experiments;
	return CLI_OK;
}

void experiments_done(struct experiments *experiments)
{
	config_done(&experiments->config);
}

/* ---- Series ---- */

/* Reads a series from the disk of this box. */
static int load_series(const char *id, cJSON **ret_series, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint32_t count = 0;
	int r = id ? 0 : series_list(&ids, &count, err);

	if (r == 0 && !id && count == 0)
		r = error_set(err, -ENOENT,
			      "this box has no series: kiln.conf with experiments or vary makes one");
	return r < 0 ? r : series_load(id ? id : ids[count - 1], ret_series, err);
}

static int load_list(cJSON **ret_rows, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	CLEANUP(json_free) cJSON *rows = cJSON_CreateArray();
	uint32_t count;
	int r = series_list(&ids, &count, err);

	while (r == 0 && count-- > 0) {
		CLEANUP(json_free) cJSON *series = NULL;

		if ((r = series_load(ids[count], &series, err)) == 0)
			(void)cJSON_AddItemToArray(rows, series_summary(series));
	}
	if (r == 0)
		*ret_rows = TAKE(rows);
	return r;
}

int experiments_list(const struct experiments *experiments, cJSON **ret_rows)
{
	struct error err = { 0 };
	int r = experiments->stored ? stored_series(&experiments->config, LIST_MAX, ret_rows, &err)
				    : load_list(ret_rows, &err);

	return r < 0 ? cli_error(&err) : CLI_OK;
}

static int find_series(const struct experiments *experiments, const char *id, cJSON **ret_series,
		       struct error *err)
{
	return experiments->stored ? stored_one_series(&experiments->config, id, ret_series, err)
				   : load_series(id, ret_series, err);
}

int experiments_series(const struct experiments *experiments, const char *id, cJSON **ret_series)
{
	struct error err = { 0 };

	return find_series(experiments, id, ret_series, &err) < 0 ? cli_error(&err) : CLI_OK;
}

/* ---- Runs ---- */

/* Asks the box for a run. */
static int ask_run(const char *id, cJSON **ret_record, struct error *err)
{
	CLEANUP(json_free) cJSON *result = NULL;
	cJSON *params = cJSON_CreateObject();
	int r;

	(void)cJSON_AddItemToObject(params, "id", json_string(id));
	if ((r = client_ask("run.show", params, &result, err)) == 0)
		*ret_record = cJSON_DetachItemFromObjectCaseSensitive(result, "run");
	return r == 0 && !*ret_record ? error_set(err, -EBADMSG, "%s: the box sent no record", id) : r;
}

static int find_run(const struct experiments *experiments, const char *id, cJSON **ret_record,
		    struct error *err)
{
	if (strspn(id, ID_CHARACTERS) != strlen(id) || !*id)
		return error_set(err, -EINVAL,
				 "found \"%s\", expected a trial, SERIES/TRIAL or the id of a run", id);
	return experiments->stored ? stored_run(&experiments->config, id, ret_record, err)
				   : ask_run(id, ret_record, err);
}

/* Finds the run of a trial. Returns 0 where the series has no trial of this name. */
static int find_trial(const cJSON *series, const char *name, cJSON **ret_record,
		      const struct experiments *experiments, struct error *err)
{
	const int index = series_find_trial(series, name);
	const char *run = cJSON_GetStringValue(json_member(series_trial(series, (uint32_t)index), "run"));

	if (index < 0)
		return 0;
	if (!run || !*run)
		return error_set(err, -ENOENT, "%s: trial \"%s\" has not begun", series_id(series), name);
	return find_run(experiments, run, ret_record, err);
}

/* Finds SERIES/TRIAL. */
static int find_pair(const struct experiments *experiments, const char *name, const char *slash,
		     cJSON **ret_record, struct error *err)
{
	CLEANUP(free_ptr) char *id = strndup(name, (size_t)(slash - name));
	CLEANUP(json_free) cJSON *series = NULL;
	int r;

	if (!id || !*id || strspn(id, ID_CHARACTERS) != strlen(id))
		return error_set(err, -EINVAL, "found \"%s\", expected SERIES/TRIAL", name);
	if ((r = find_series(experiments, id, &series, err)) < 0 ||
	    (r = find_trial(series, slash + 1, ret_record, experiments, err)) < 0)
		return r;
	return *ret_record ? 0 : error_set(err, -ENOENT, "%s: has no trial \"%s\"", id, slash + 1);
}

int experiments_run(const struct experiments *experiments, const char *id, const char *name,
		    cJSON **ret_record)
{
	CLEANUP(json_free) cJSON *series = NULL;
	const char *slash = strchr(name, '/');
	struct error err = { 0 };
	int r = 0;

	if (slash)
		r = find_pair(experiments, name, slash, ret_record, &err);
	else if ((r = find_series(experiments, id, &series, &err)) == 0)
		r = find_trial(series, name, ret_record, experiments, &err);
	else if (!id && r == -ENOENT) /* runs can be compared where there is no series */
		r = 0;
	if (r == 0 && !*ret_record)
		r = find_run(experiments, name, ret_record, &err);
	return r < 0 ? cli_error(&err) : CLI_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/experiments/where.h"

#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/host.h"
#include "cli/runs/stored.h"
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

/* Prints an error. Returns the exit code. */
static int say(const struct experiments *experiments, const struct error *err)
{
	return experiments->stored ? cli_error(err) : client_error(err);
}

/* Calls a method of the box whose result has one member. `id`: NULL = without this parameter. */
static int ask(const char *method, const char *id, const char *member, cJSON **ret_member, struct error *err)
{
	CLEANUP(json_free) cJSON *result = NULL;
	cJSON *params = cJSON_CreateObject();
	int r;

	if (id)
		(void)cJSON_AddItemToObject(params, "id", json_string(id));
	if ((r = client_ask(method, params, &result, err)) < 0)
		return r;
	*ret_member = cJSON_DetachItemFromObjectCaseSensitive(result, member);
	return *ret_member ? 0 : error_set(err, -EBADMSG, "%s: the box sent no %s", method, member);
}

int experiments_list(const struct experiments *experiments, cJSON **ret_rows)
{
	struct error err = { 0 };
	int r = experiments->stored ? stored_series(&experiments->config, LIST_MAX, ret_rows, &err)
				    : ask("experiments.list", NULL, "series", ret_rows, &err);

	return r < 0 ? say(experiments, &err) : CLI_OK;
}

static int find_series(const struct experiments *experiments, const char *id, cJSON **ret_series,
		       struct error *err)
{
	return experiments->stored ? stored_one_series(&experiments->config, id, ret_series, err)
				   : ask("experiments.show", id, "series", ret_series, err);
}

int experiments_series(const struct experiments *experiments, const char *id, cJSON **ret_series)
{
	struct error err = { 0 };

	return find_series(experiments, id, ret_series, &err) < 0 ? say(experiments, &err) : CLI_OK;
}

/* ---- Runs ---- */

static int find_run(const struct experiments *experiments, const char *id, cJSON **ret_record,
		    struct error *err)
{
	if (strspn(id, ID_CHARACTERS) != strlen(id) || !*id)
		return error_set(err, -EINVAL,
				 "found \"%s\", expected a trial, SERIES/TRIAL or the id of a run", id);
	return experiments->stored ? stored_run(&experiments->config, id, ret_record, err)
				   : ask("run.show", id, "run", ret_record, err);
}

/* Finds the run of a trial. Returns 0 where the series has no trial of this name. */
static int find_trial(const cJSON *series, const char *name, cJSON **ret_record,
		      const struct experiments *experiments, struct error *err)
{
	const int index = series_find_trial(series, name);
	const char *run;

	if (index < 0)
		return 0;
	run = cJSON_GetStringValue(json_member(series_trial(series, (uint32_t)index), "run"));
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
	else if (!id && (r == -ENOENT || r == -EREMOTEIO)) /* no series: runs can be compared nevertheless */
		r = 0;
	if (r == 0 && !*ret_record)
		r = find_run(experiments, name, ret_record, &err);
	return r < 0 ? say(experiments, &err) : CLI_OK;
}

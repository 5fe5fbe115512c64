/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats a run. Fetches its plan and its weights from the run's folder in the store, and checks them against
 * the SHA-256s in its run.json. */
#include "oneshot/begin/repeat.h"
#include "core/base/json.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/begin/box_stores.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/start.h"
#include "oneshot/begin/stored_plan.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/weights.h"

#include <string.h>

#define RECORD_MAX (64u << 20) /* a file that a person gives: the record made of it has its own bound */

static int bring_plan(struct store *sink, const char *file, const struct run *was,
		      char path[static PATH_BYTES], struct error *err)
{
	if (!*was->plan_sha256)
		return error_set(err, -EINVAL,
				 "%s: plan_sha256: found \"\": the run had no plan yet, so nothing says what "
				 "it read",
				 file);
	return stored_plan_get(sink, was, file, path_of(PATH_SLOT, "plan", path), err);
}

/* ---- Whose stores ---- */

static int check_is_local(const char *key, const char *url, struct error *err)
{
	return strncmp(url, "file://", 7) == 0
		       ? 0
		       : error_set(err, -EPERM,
				   "%s is \"%.200s\", and there is no kiln.conf that names this store; "
				   "write one with the stores, and give it with --config FILE",
				   key, url);
}

static int check_are_local(const struct config *config, struct error *err)
{
	const char *weights = config->model.weights;
	int r = check_is_local("sink.url", config->sink.url, err);

	for (uint32_t i = 0; r == 0 && i < config->sources; i++)
		r = check_is_local("source.url", config->source[i].store.url, err);
	/* A URL of weights is asked with the endpoint and the credential of the record's sink. */
	return r == 0 && strstr(weights, "://") ? check_is_local("model.weights", weights, err) : r;
}

/* Prints the record with stores that this box may use. */
static int with_our_stores(const struct repeat *repeat, const char *text, uint64_t bytes, char **ret_text,
			   struct error *err)
{
	CLEANUP(config_done) struct config box = { 0 };
	CLEANUP(config_done) struct config record = { 0 };
	const char *file = repeat->config ? repeat->config : config_path(0, NULL);
	int r = config_load(file, &box, err);
	const bool none = r == -ENOENT && !repeat->config;

	if (r < 0 && !none)
		return r;
	if (!repeat->adopt || none) {
		r = stored_record_config(repeat->record, text, bytes, &record, err);
		if (r == 0)
			r = none ? check_are_local(&record, err) : box_stores_check(&record, &box, err);
		if (r == -EPERM && !none)
			return error_prefix(
				err,
				"%s names other stores than %s, so it is repeated only with --adopt, "
				"with the stores of that file",
				repeat->record, file);
		if (r < 0)
			return error_prefix(err, "%s", repeat->record);
	}
	if (!none)
		return box_stores_put(&box, repeat->record, text, bytes, ret_text, err);
	*ret_text = strdup(text);
	return *ret_text ? 0 : error_set(err, -ENOMEM, "%s: no memory", repeat->record);
}

/* ---- The new run ---- */

/* Brings the checkpoint with which the run started, from where the run that wrote it is. */
static int bring_its_start(const struct config *config, const char *start_run, char start[static PATH_BYTES],
			   struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	int r = start_open_sink(config, start_run, &sink, err);

	return r < 0 ? r : bring_start(sink, start_run, start, err);
}

/* Brings the plan and the weights of the run `was`, whose record is `text`. */
static int bring(const char *file, const char *text, const struct run *was, char plan[static PATH_BYTES],
		 char start[static PATH_BYTES], struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	char found[DIGEST_HEX_BYTES];
	struct config_store where;
	int r;

	if ((r = stored_record_config(file, text, strlen(text), &config, err)) < 0 ||
	    (r = json_parse(file, text, strlen(text), &record, err)) < 0 ||
	    (r = versions_run_sink(&config, record, &where, err)) < 0 ||
	    (r = configured_store_open(&config, &where, &sink, err)) < 0 ||
	    (r = bring_plan(sink, file, was, plan, err)) < 0 ||
	    (*was->start_run && (r = bring_its_start(&config, was->start_run, start, err)) < 0) ||
	    (*was->weights_sha256 &&
	     (r = weights_bring(&config, was->weights_sha256, start, found, err)) < 0))
		return r;
	return *was->start_run && !*start
		       ? error_set(err, -ENOENT, "%s: start_run: %s has no checkpoint any more", file,
				   was->start_run)
		       : 0;
}

int repeat_begin(const struct repeat *repeat, struct run *ret_run, char ret_repeats[static RUN_ID_BYTES],
		 struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL, *ours = NULL;
	char plan[PATH_BYTES], start[PATH_BYTES] = "";
	struct run was = { 0 };
	uint64_t bytes;
	int r;

	if ((r = file_read(repeat->record, RECORD_MAX, &text, &bytes, err)) < 0 ||
	    (r = run_parse(repeat->record, text, bytes, &was, err)) < 0 ||
	    (r = with_our_stores(repeat, text, bytes, &ours, err)) < 0 ||
	    (r = bring(repeat->record, ours, &was, plan, start, err)) < 0)
		return r;
	(void)snprintf(ret_repeats, RUN_ID_BYTES, "%s", was.id);
	return run_repeat(ours, strlen(ours), plan, *start ? start : NULL, ret_run, err);
}

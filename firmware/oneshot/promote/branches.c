/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/branches.h"

#include "core/base/log.h"
#include "core/run/spool.h"
#include "core/series/series.h"
#include "drivers/versions/versions_run.h"
#include "model/config_text.h"
#include "oneshot/branches/left.h"
#include "oneshot/promote/merge_commit.h"
#include "oneshot/promote/outcome.h"

#include <string.h>
#include <sysexits.h>

/* What came of a branch. */
enum fate {
	FATE_DONE,  /* it is deleted, or it stays for good */
	FATE_LATER, /* it may be deleted later */
	FATE_AWAY,  /* the same, and the server cannot be asked */
};

static enum fate fail(const struct error *err)
{
	log_warning("%s; the branch stays", err->text);
	return error_exit_code(err) == EX_UNAVAILABLE ? FATE_AWAY : FATE_DONE;
}

/* Deletes a branch, or notes that it is left. */
static enum fate delete_one(struct versions *versions, const struct config_store *sink, const char *branch)
{
	struct error err;
	enum fate fate;

	if (versions_branch_delete(versions, branch, &err) == 0)
		return FATE_DONE;
	fate = fail(&err);
	if (fate == FATE_DONE)
		left_note(sink, branch);
	return fate;
}

/* ---- A series ---- */

/* Tells whether a branch is that of a trial: 1 or 0. It has the commit of the trial or, where the trial's
 * files were never committed, is where the branches of the series begin. A trial that never ran has none,
 * except for the first one, whose branch is the claim of the series. */
static int is_of_trial(struct versions *versions, const cJSON *series, const cJSON *trial, const char *branch,
		       struct error *err)
{
	const char *run_id = series_text(trial, "run");
	char head[VERSIONS_ID_BYTES];
	int r;

	if (!*run_id && trial != series_trial(series, 0))
		return 0;
	if (*run_id && (r = versions_run_find(versions, branch, run_id, err)) != 0)
		return r;
	r = versions_resolve(versions, branch, head, err);
	return r == 0 ? strcmp(head, series_text(series, "sink_commit")) == 0 : r == -ENOENT ? 0 : r;
}

/* Deletes the branch of a trial, unless somebody else has a branch of its name. */
static enum fate delete_of_trial(struct versions *versions, const struct config_store *sink,
				 const cJSON *series, const cJSON *trial)
{
	const char *run_id = series_text(trial, "run");
	char branch[CONFIG_REF_MAX + 1];
	struct error err;
	int r;

	versions_trial_branch(series_id(series), series_text(trial, "name"), branch);
	if (*run_id && spool_has(run_id)) {
		log_notice("%s: files of %s are not in the store, so the branch stays until they are", branch,
			   run_id);
		return FATE_LATER;
	}
	r = is_of_trial(versions, series, trial, branch, &err);
	return r < 0 ? fail(&err) : r > 0 ? delete_one(versions, sink, branch) : FATE_DONE;
}

/* Returns FATE_DONE, FATE_LATER where branches are left, FATE_AWAY where the server cannot be asked. The
 * first call without an answer is the last one, because each costs minutes. */
static int delete_all(const cJSON *series, const char *kept, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(versions_closep) struct versions *versions = NULL;
	enum fate fate = FATE_DONE;
	enum fate left = FATE_DONE;
	int r;

	if ((r = config_text_load(series_text(series, "config"), &config, err)) < 0 ||
	    (r = merge_versions(&config, &versions, err)) < 0)
		return r;
	for (uint32_t i = 0; fate != FATE_AWAY && i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);

		if (*kept && strcmp(series_text(trial, "run"), kept) == 0)
			continue;
		fate = delete_of_trial(versions, &config.sink, series, trial);
		left = fate > left ? fate : left;
	}
	return (int)left;
}

/* Returns as delete_all(). */
static int delete_of_series(const char *id, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	const char *kept;
	int r = series_load(id, &series, err);

	if (r < 0 || !(kept = outcome_left_branches(series)))
		return r;
	if ((r = delete_all(series, kept, err)) != 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(series, OUTCOME_BRANCHES_LEFT);
	return series_write(series, err);
}

/* Deletes what an older series has left: its last files came after another night had begun. */
static int delete_of_older(const char *id)
{
	struct error err;
	int r = delete_of_series(id, &err);

	if (r < 0)
		log_warning("%s; its branches stay", err.text);
	return r;
}

/* ---- Branches of a promotion ---- */

/* Writes the name of the branch by which the current run is promoted, while it has no outcome; else "". */
static void find_busy(char out[static CONFIG_REF_MAX + 1])
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;

	*out = '\0';
	if (run_load(&run, NULL) == 0 && run_record(&record, NULL) == 0 && !outcome_is_noted(NULL, record))
		versions_promotion_branch(run.id, out);
}

/* Returns as left_delete(). A box that has no run yet has no sink to look at. */
static int delete_of_promotions(const struct winner *winner)
{
	const struct store_options options = store_options_of(&winner->config);
	char busy[CONFIG_REF_MAX + 1];

	if (!winner->config.sink.url)
		return 0;
	find_busy(busy);
	return left_delete(&winner->config, false, busy, &options);
}

int branches_delete(const struct winner *winner, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint32_t count = 0;
	int r = series_list(&ids, &count, err);

	if (r < 0 || (r = delete_of_promotions(winner)) != 0)
		return r;
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(ids[i], winner_series(winner)) != 0 && delete_of_older(ids[i]) == FATE_AWAY)
			return 1;
	r = winner->series ? delete_of_series(winner_series(winner), err) : 0;
	return r > 0 ? 1 : r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/branches.h"

#include "core/base/log.h"
#include "core/run/spool.h"
#include "core/series/series.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/promote/outcome.h"

#include <string.h>
#include <sysexits.h>

static bool is_kept(const struct winner *winner, const char *run_id)
{
	return winner->config.branches.keep == KEEP_WINNER && strcmp(run_id, winner->run_id) == 0;
}

/* Deletes the branch of a trial, unless somebody else has a branch of its name. Returns 1 where it may go
 * later. */
static int delete_one(struct versions *versions, const char *branch, const char *run_id)
{
	struct error err;
	int r;

	if (spool_has(run_id)) {
		log_notice("%s: files of %s are not in the store, so the branch stays until they are", branch,
			   run_id);
		return 1;
	}
	r = versions_run_find(versions, branch, run_id, &err);
	if (r > 0)
		r = versions_branch_delete(versions, branch, &err);
	if (r < 0)
		log_warning("%s; the branch stays", err.text);
	return r < 0 && error_exit_code(&err) == EX_UNAVAILABLE;
}

static int delete_all(const struct winner *winner, struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char branch[CONFIG_REF_MAX + 1];
	int left = 0, r = versions_sink_open(&winner->config, &options, &versions, err);

	for (uint32_t i = 0; r == 0 && i < series_trials(winner->series); i++) {
		const cJSON *trial = series_trial(winner->series, i);
		const char *run_id = series_text(trial, "run");

		if (!*run_id || is_kept(winner, run_id))
			continue;
		versions_trial_branch(series_id(winner->series), series_text(trial, "name"), branch);
		left |= delete_one(versions, branch, run_id);
	}
	return r < 0 ? r : left;
}

int branches_delete(const struct winner *winner, struct error *err)
{
	int r;

	if (!outcome_has_left_branches(winner->series))
		return 0;
	if ((r = delete_all(winner, err)) != 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(winner->series, OUTCOME_BRANCHES_LEFT);
	return series_write(winner->series, err);
}

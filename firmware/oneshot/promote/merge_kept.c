/* SPDX-License-Identifier: Apache-2.0 */
/* Where the champion stays, in a sink with branches. */
#include "oneshot/promote/merge.h"

#include "core/base/log.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/branches/left.h"
#include "oneshot/promote/merge_commit.h"
#include "oneshot/promote/outcome.h"

/* The branch where the records of the outcome appear. */
static const char *kept_branch(const struct winner *winner, const struct merge *merge,
			       char out[static CONFIG_REF_MAX + 1])
{
	return versions_branch_of(merge->alone ? &winner->config.sink : &merge->from, out);
}

/* Tells whether an earlier start has committed the records: 1 or 0. A noted outcome is another one, as the
 * judgement was asked for again. */
static int is_kept(const struct winner *winner, const struct merge *merge, const cJSON *metadata,
		   struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char branch[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r;

	if (outcome_is_noted(winner->series, winner->record))
		return 0;
	if ((r = merge_versions(&winner->config, &versions, err)) < 0)
		return r;
	r = versions_find_commit(versions, kept_branch(winner, merge, branch), metadata, id, err);
	return r;
}

static cJSON *metadata_of_kept(const struct winner *winner)
{
	return merge_metadata("kiln.judged", winner->run_id, "", winner_series(winner));
}

/* The outcome is noted without the records where a hook refuses them. Returns `instead` then. */
static int without_records(int r, int instead, const struct error *err)
{
	if (r != -EPERM)
		return r;
	log_warning("%s; going on", err->text);
	return instead;
}

/* Begins the stage of a run of its own. */
static int begin_alone(const struct winner *winner, struct merge *merge, struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	char branch[CONFIG_REF_MAX + 1];
	struct stage stage;
	int r;

	versions_promotion_branch(winner->run_id, branch);
	r = left_stage_open(&winner->config.sink, branch, &options, &stage, err);
	merge->from = stage.at;
	return r;
}

int merge_keep_begin(const struct winner *winner, struct merge *merge, struct error *err)
{
	CLEANUP(json_free) cJSON *metadata = metadata_of_kept(winner);
	int r;

	if (!merge->branches)
		return 0;
	if (!metadata)
		return error_set(err, -ENOMEM, "no memory for a commit");
	r = is_kept(winner, merge, metadata, err);
	if (r == 0)
		r = merge->alone ? begin_alone(winner, merge, err) : merge_begin(winner, merge, err);
	return without_records(merge_later(r, err), 1, err);
}

static int commit_kept(const struct winner *winner, const struct merge *merge, const char *message,
		       const cJSON *metadata, struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	const struct stage stage = { .at = merge->from, .into = winner->config.sink };
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char id[VERSIONS_ID_BYTES];
	int r;

	if (merge->alone) {
		r = merge_later(stage_merge(&stage, message, metadata, &options, err), err);
		left_stage_drop(&stage, &options);
		return r;
	}
	r = merge_versions(&winner->config, &versions, err);
	return r < 0 ? r : merge_commit(versions, merge->from.at, message, metadata, id, err);
}

int merge_keep(const struct winner *winner, const struct merge *merge, struct error *err)
{
	CLEANUP(json_free) cJSON *metadata = metadata_of_kept(winner);
	char message[128];

	if (!merge->branches)
		return 0;
	if (!metadata)
		return error_set(err, -ENOMEM, "no memory for a commit");
	(void)snprintf(message, sizeof(message), "not promoted: %s", winner->run_id);
	return without_records(commit_kept(winner, merge, message, metadata, err), 0, err);
}

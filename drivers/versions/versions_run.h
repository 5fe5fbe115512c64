/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run keeps under versions in its sink. A trial of a series has a branch of its own (core/run/run.h,
 * "sink_branch"); any other run writes to the branch of sink.url. On a store without branches the calls do
 * nothing. A call may be made again, after a kill or by another program.
 */
#pragma once

#include "core/run/run.h"
#include "drivers/versions/versions.h"

/* Opens the versions of the sink of a configuration. `options` may be NULL. */
MUST_CHECK int versions_sink_open(const struct config *config, const struct store_options *options,
				  struct versions **ret_versions, struct error *err);

/* Commits what was put to the branch of `where`, the sink of `config`, with one text as its metadata. No
 * error where nothing has changed. */
MUST_CHECK int versions_sink_commit(const struct config *config, const struct config_store *where,
				    const char *key, const char *text, const struct store_options *options,
				    struct error *err);

/* Returns the sink of a configuration with the branch that winners are merged into: sink.merge_into, or that
 * of sink.url. On a store without branches it is the sink. */
struct config_store versions_merge_target(const struct config *config);

/* Writes the name of a trial's branch: "exp-SERIES-TRIAL". */
void versions_trial_branch(const char *series, const char *trial, char out[static CONFIG_REF_MAX + 1]);

/* Writes the name of the branch by which a run of its own is promoted: "promote-RUN". */
void versions_promotion_branch(const char *run_id, char out[static CONFIG_REF_MAX + 1]);

/* Makes the branch of a run at the commit where it begins. Does nothing for a run without a branch of its
 * own. Errors: -EEXIST somebody else has a branch of this name. */
MUST_CHECK int versions_run_branch(const struct run *run, const struct store_options *options,
				   struct error *err);

/* Tells whether a branch has a commit of a run: that of its files, or the one that promotes it. Returns 1
 * where it has, else 0, also where there is no such branch. */
MUST_CHECK int versions_run_find(struct versions *versions, const char *branch, const char *run_id,
				 struct error *err);
/* Tells whether the files of a run, which are committed, are on the branch that its record names: 1 or 0. 1
 * also for a run without a branch of its own. */
MUST_CHECK int versions_run_is_on_branch(const struct run *run, const struct store_options *options,
					 struct error *err);

/* Commits the files of a run that has ended, with metadata: kiln.run_id, kiln.series, kiln.trial, kiln.state,
 * kiln.seed, kiln.plan_sha256, and kiln.SPLIT.FIGURE for each figure of `record`, its run.json with the
 * member "state"; all are texts. Where another commit of the branch has taken the files, makes one without
 * changes, so that each run has one. */
MUST_CHECK int versions_run_commit(const struct run *run, const cJSON *record,
				   const struct store_options *options, struct error *err);

/* Finds where the files of a run are: *ret_sink becomes the sink of `config` with the branch that the record
 * names, or the one merged into where that branch is gone. `record`: run.json. Errors: -EBADMSG; those of
 * the server. */
MUST_CHECK int versions_run_sink(const struct config *config, const cJSON *record,
				 struct config_store *ret_sink, struct error *err);

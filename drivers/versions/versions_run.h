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

/* Writes the name of a trial's branch: "exp-SERIES-TRIAL". */
void versions_trial_branch(const char *series, const char *trial, char out[static CONFIG_REF_MAX + 1]);

/* Makes the branch of a run at the commit where it begins. Does nothing for a run without a branch of its
 * own. Errors: -EEXIST somebody else has a branch of this name. */
MUST_CHECK int versions_run_branch(const struct run *run, const struct store_options *options,
				   struct error *err);

/* Commits the files of a run that has ended, with metadata: kiln.run_id, kiln.series, kiln.trial, kiln.state,
 * kiln.seed, kiln.plan_sha256, and kiln.SPLIT.FIGURE for each figure of `record`, its run.json with the
 * member "state"; all are texts. No error where nothing has changed. */
MUST_CHECK int versions_run_commit(const struct run *run, const cJSON *record,
				   const struct store_options *options, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The branches of the trials of a series whose sink has branches (drivers/versions). All begin at one commit:
 * the newest of the branch of sink.url when the series begins, which series.json notes. While the
 * server cannot be asked the series waits, as a run waits for its store; a later trial trains without a
 * branch, which kiln-uploadd makes before it uploads.
 */
#pragma once

#include "core/run/run.h"
#include "core/series/series.h"
#include "drivers/versions/versions.h"

/* Finds the commit where the branches begin, which series.json then notes; leaves ret_id as it is where it
 * has noted one, or the sink has no branches. Errors: those of the server. */
MUST_CHECK int branch_find_start(const cJSON *series, const struct config *config,
				 char ret_id[static VERSIONS_ID_BYTES], struct error *err);
/* Adds the branch of a trial to the members of its run.json. Does nothing where the sink has no branches. */
MUST_CHECK int branch_of_trial(const cJSON *series, const char *trial, const struct config *config,
			       cJSON *members, struct error *err);

/* Makes the branch of a run that has one. Returns 1 where it is there, or the run has none; 0 where the
 * server cannot be asked now. Errors: -EEXIST somebody else has a branch of this name. */
MUST_CHECK int branch_make(const struct run *run, struct error *err);

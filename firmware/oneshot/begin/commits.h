/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes the commits that a run reads: those that the branches of its lakefs:// sources have when it begins.
 */
#pragma once

#include "core/run/run.h"
#include "core/series/series.h"

/* Resolves the ref of each lakefs:// source that has no commit yet, and sets source[i].store.at. *ret_any:
 * there was such a source. */
MUST_CHECK int commits_find(struct config *config, bool *ret_any, struct error *err);

/* Gives the current run, which is `run`, the commits of `from`, and notes them in its record. */
MUST_CHECK int commits_fix(struct run *run, const struct config *from, struct error *err);

/* Fixes the commits in the configuration of a trial: all trials of a series read the same commit of the same
 * url. Adds them to the members of the trial's run.json, and those that are new to series.json. */
MUST_CHECK int commits_of_series(cJSON *series, struct config *config, cJSON *members, struct error *err);

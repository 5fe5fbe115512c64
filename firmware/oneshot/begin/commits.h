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

/* The same for a trial: all trials of a series read the same commit of the same url, so what series.json has
 * noted is taken from there. *ret_any: a commit was found that it has not. */
MUST_CHECK int commits_of_series(const cJSON *series, struct config *config, bool *ret_any,
				 struct error *err);
/* Notes the commits of a trial in the record of its series, which the caller writes. Where it has one for the
 * same url already, `config` gets that one. */
MUST_CHECK int commits_note(cJSON *series, struct config *config, struct error *err);
/* Adds the commits of a configuration to the members of a new run.json. */
MUST_CHECK int commits_add(const struct config *config, cJSON *members, struct error *err);

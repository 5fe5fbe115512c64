/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the night of an unfinished run. A run has until the first run.ends_at after it was asked for;
 * then it rests as expired, and the next night goes on with its newest checkpoint. */
#pragma once

#include "core/run/run.h"

/* Returns whether the night of a run that was asked for at `since` (Unix time) is over, by the configuration
 * that the run has or would have: the frozen one of an unfinished run, else `file`. */
MUST_CHECK bool expire_is_due(const char *file, int64_t since);
/* Takes back that a run was asked for (RUN_ASKED_FILE), and lets an interrupted run expire. */
MUST_CHECK int expire_asked(struct error *err);
/* run_expire(), and an event. */
MUST_CHECK int expire_run(const struct run *run, struct error *err);
/* Returns whether a run in this state goes on unless somebody says otherwise. */
bool expire_is_interrupted(enum run_state state);

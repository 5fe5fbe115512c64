/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the night of an unfinished run. A run may work until the first run.ends_at after it was asked
 * for. Then its state becomes expired, and the next night goes on from its newest checkpoint. */
#pragma once

#include "core/run/run.h"

/* Returns whether the night of a run that was asked for at `since` (Unix time) is over, by the run's
 * configuration: the frozen one of an unfinished run, else `file`. */
MUST_CHECK bool expire_is_due(const char *file, int64_t since);
/* Removes the note that a run was asked for (RUN_ASKED_FILE), and sets an interrupted run to expired. `says`:
 * sends an event, because nothing has begun in this night. */
MUST_CHECK int expire_asked(bool says, struct error *err);
/* Calls run_expire() and sends an event. */
MUST_CHECK int expire_run(const struct run *run, struct error *err);
/* Returns whether a run in this state goes on by itself, for instance after a reboot. */
bool expire_is_interrupted(enum run_state state);

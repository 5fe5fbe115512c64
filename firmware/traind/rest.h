/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Ends the process's work: closes everything, sets the run's state last, so that whoever sees the state finds
 * every file, and returns the exit code. `result` is loop_run()'s or the error of an earlier call, with its
 * text in `err`:
 *   - 0: the run is finished.
 *   - -ECANCELED: the run rests as train->want.rest says. After a signal alone it stays RUN_RUNNING, and
 *     the next start goes on with it.
 *   - other errors: data that cannot be used fails the run. What may pass, or a person can mend, leaves it
 *     unfinished. */
int rest(struct train *train, int result, struct error *err);

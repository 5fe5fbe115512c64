/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Ends the work of the process: closes everything, sets the run's state last, so that a program that reads
 * the state finds every file, and returns the exit code. `result` is that of loop_run() or the error of an
 * earlier call, with its text in `err`:
 *   - 0: the run is finished.
 *   - -ECANCELED: the run gets the state train->want.rest. After a signal alone it stays RUN_RUNNING, and the
 *     next start goes on with it.
 *   - other errors: the run fails if its data cannot be used. After an error that may go away, or that a
 *     person can correct, the run stays unfinished. A trial of a series fails after a few tries for which the
 *     device had too little memory, so that the other trials go on. */
int rest(struct train *train, int result, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials side by side in `kiln run`: a process for each slot (core/base/slot.h) begins one trial, runs the
 * daemons until the trial has ended, notes that, and ends. It then starts again while there are trials. A
 * slot without work starts again when a trial of another slot has ended.
 *
 * A daemon that crashes is started again by the process of its slot; the other slots do not notice. A process
 * that is killed, or cannot begin its trial now, is started again as a daemon is (daemons.h), and the other
 * slots go on. The processes get SIGTERM when `kiln run` dies. One thread.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

/* Trains the trials of the series `id` in `slots` slots. `begun`: slot 0 has begun its first trial already.
 * Returns EX_OK once the series has ended, EX_TEMPFAIL where it was stopped or waits, or else the exit code
 * of the first slot that failed. Errors: -errno of a start. */
MUST_CHECK int slots_train(const char *config, const char *id, unsigned slots, bool begun, struct error *err);

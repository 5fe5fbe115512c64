/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one run in a list of runs. */
#pragma once

#include "core/base/json.h"

/* Returns how many epochs are trained, from the member "epochs" of run.json, which has not all epochs of a
 * long run (core/run/run.h): the number of the last one counts. */
uint64_t run_epochs_done(const cJSON *epochs);

/* Makes the summary of a run from its run.json with the member "state": {id, state, started_s, took_s,
 * epochs, loss, accuracy, validation_loss, validation_accuracy, test_loss, test_accuracy}. took_s: seconds in
 * which a trainer worked on the run. epochs: how many are trained. The figures are those of the last epoch
 * and of the test. A member that the record does not know is missing. The caller frees it. NULL: no memory.
 */
cJSON *run_summary(const cJSON *record);

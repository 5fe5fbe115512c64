/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one run in a list of runs. */
#pragma once

#include "core/base/json.h"

/* Makes the summary of a run from its run.json with the member "state": {id, state, started_s, took_s,
 * epochs, loss, accuracy, validation_loss, validation_accuracy, test_loss, test_accuracy}. took_s: seconds in
 * which a trainer worked on the run. epochs: how many are trained. The figures are those of the last epoch
 * and of the test. A member that the record does not know is missing. The caller frees it. NULL: no memory.
 */
cJSON *run_summary(const cJSON *record);

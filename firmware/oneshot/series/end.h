/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a series. */
#pragma once

#include "core/series/series.h"

/* Ends the series: prunes what is parked, chooses the winner, makes the winner's run the current one of
 * slot 0, writes the record and sends an event. `reason`: why it ends before all trials have; NULL = they
 * have. No trainer works on it in any slot; a trial that another slot has left unfinished fails. May be
 * called again after a crash. */
MUST_CHECK int end_series(cJSON *series, enum series_state state, const char *reason, struct error *err);

/* Keeps the record of the best trial so far in the archive, while the records of others come into it. */
void end_keep_best(const cJSON *series);

/* Prunes the run of a trial, and notes it. `reason` NULL: other trials are better. */
MUST_CHECK int end_trial(cJSON *series, uint32_t trial, const char *reason, struct error *err);

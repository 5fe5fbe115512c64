/* SPDX-License-Identifier: Apache-2.0 */
/* What the record of a series says about one of its trials. The caller writes the record. */
#pragma once

#include "core/series/next.h"

/* Finds the trial whose run is the current one, by the member "series" of its run.json `record`; -1: the run
 * is no trial of this series. */
int note_find(const cJSON *series, const cJSON *record);
/* Notes the figures of a trial's run, from its run.json with the member "state". */
void note_run(const cJSON *series, cJSON *trial, const cJSON *record);
/* Notes the value of the objective after `epochs` epochs, 0 = all, as that of the next rungs, until `rungs`
 * have ended. */
void note_rungs(const cJSON *series, cJSON *trial, const cJSON *record, uint64_t epochs, uint32_t rungs);
/* Notes how a trial's run has ended for good, after note_run(). `rungs`: next_rungs(). Returns false where
 * this is noted already. */
bool note_end(const cJSON *series, cJSON *trial, const cJSON *record, enum run_state state, uint32_t rungs);
/* Notes which trial begins or goes on next; NULL: one is at work. */
void note_next(cJSON *series, const struct next *next);
/* Sets the state of a trial, with its reason; NULL = none. */
void note_state(cJSON *trial, enum trial_state state, const char *reason);

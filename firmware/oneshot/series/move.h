/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial that has begun in a slot where it cannot go on: its run is parked, and the trial waits for its turn
 * in slot 0. The functions work on the slot that this thread uses. They hold no lock.
 */
#pragma once

#include "core/series/series.h"

/* Parks the current run of this slot, which is that of an unfinished trial, and writes the series. Its id is
 * noted first: after a kill the run is still that of the trial. */
MUST_CHECK int move_park(cJSON *series, uint32_t index, const cJSON *record, struct error *err);
/* Gives a trial that runs to slot 0. The caller writes the series. */
void move_trial(cJSON *trial);

/* Does both for the current run of this slot, with the lock of the series. Does nothing where the run is
 * final, or no trial of the unfinished series. */
MUST_CHECK int move_current(struct error *err);

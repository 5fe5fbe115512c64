/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attempt to begin the run of a trial, or to go on with it. The lock of the series is held only from a
 * load of its record to the write: series.json says that this slot takes the trial, then the lock is let go,
 * the run begins, which is work over the network, and the record is locked and loaded again to note the run.
 * So the slots do not wait for each other, and a store that is away does not keep a trial of another slot
 * from ending.
 */
#pragma once

#include "core/config/config.h"
#include "core/series/next.h"
#include "core/series/series.h"

struct held {
	int lock;      /* of series_lock(); -1: it is let go */
	cJSON *series; /* the record as it was loaded last; its trials keep their indices */
};

void held_let_go(struct held *held);
/* Locks the series and loads it again: pointers into the record are no longer valid. */
MUST_CHECK int held_again(struct held *held, struct error *err);
/* Lets go, and deletes the record. */
void held_done(struct held *held);

/* Begins the trial `next` in this slot, and notes it. Called with the lock, and returns with it. Returns
 * SERIES_BEGUN_TRIAL; SERIES_BEGUN_NONE where the trial has failed, which is noted: another one may be tried;
 * SERIES_BEGUN_OVER where the series has ended meanwhile; SERIES_BEGUN_REST where it was stopped, or its
 * night ended: the run of the trial rests, too. Errors: the trial stays this slot's, for another attempt; the
 * lock may be let go. */
MUST_CHECK int trial_begin(const char *file, struct held *held, const struct config *config,
			   const struct next *next, struct error *err);

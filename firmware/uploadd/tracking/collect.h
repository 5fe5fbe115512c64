/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes what is new of a run or a series into the spool of the tracking server (core/run/tracking.h): from
 * the run's record, from its event files, and from series.json. Reads and writes this disk only.
 *
 * Threads: one at a time. Crash: harmless at any point; the next call goes on from what the spool has.
 */
#pragma once

#include "core/base/json.h"
#include "core/base/slot.h"
#include "core/run/run.h"
#include "uploadd/tracking/follow.h"

/* A run that stays open between two calls. */
struct collector {
	char id[RUN_ID_BYTES]; /* "" = none */
	struct journal journal;
	struct follow follow;
};

/* In each slot the run that was collected last stays open, because most calls are of the same runs: a run
 * that is opened is read from its beginning. No two have the same run. Zeroed: none is open. */
struct collectors {
	struct collector of[SLOTS_MAX];
};

/* Collects a run, in this slot. `record`: its run.json with the member "state". Does nothing where the run
 * has no tracking.url, or has ended and has no files in either spool: the server has it. Errors: -errno of
 * the disk.
 */
MUST_CHECK int collect_run(struct collectors *collectors, const struct run *run, const cJSON *record,
			   struct error *err);
/* Collects the series whose folder is in the spool: it is there since its first trial was collected. */
MUST_CHECK int collect_series(const char *id, struct error *err);
/* Returns 1 where the folder belongs to a series, 0 where to a run. Errors: -errno of the disk. */
MUST_CHECK int collect_is_series(const char *id, struct error *err);
/* Tells whether the folder belongs to a series of which the spool has a trial. */
bool collect_has_trials(const char *id);
/* Closes this run, before its folder is removed. */
void collect_forget(struct collectors *collectors, const char *id);
void collect_close(struct collectors *collectors);

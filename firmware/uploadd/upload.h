/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-uploadd uploads the files of each run from the spool (core/run/spool.h) to the store.
 *
 *     main.c          starts the process
 *     uploader.c      makes a pass over the runs, waits, waits longer after failures, writes the status page
 *     upload.c        one run: a pass over its files
 *     checkpoints.c   its checkpoints, and latest.json
 *     retain.c        which checkpoints stay
 *     tracking/       what the tracking server gets (tracking/tracker.h)
 *     series.c        the records of series
 *     refused.c       what it tells of a run whose files the store refuses
 *     put.c, steps.c, watch.c
 *
 * Threads: one for the store, one for the tracking server. While the first waits for the store, the store
 * calls back, so that systemd's watchdog knows that it is alive.
 *
 * Owners: traind makes the files of the spool, only uploadd removes them. Only uploadd writes the objects of
 * a run in the store, so it may abort unfinished uploads that it finds there.
 *
 * Crash: harmless at any point; only work in progress is lost. Objects appear whole or not at all.
 * latest.json names a checkpoint only after this was checked in the store, and only then is a file of the
 * spool removed. There is no other state: the next process finds all that it needs in the spool and in the
 * store.
 */
#pragma once

#include "drivers/notify/alive.h"
#include "uploadd/state.h"
#include "uploadd/tracking/tracker.h"

/* Upper bound, in seconds, of the time for which a pass may not report to the watchdog: a write to the
 * slowest disk. */
#define UPLOAD_QUIET_S 300u

/* Renews the lease of a struct alive_worker for so long: struct store_options, awake. */
void upload_renew_lease(void *worker);

/* Opens the store for a run, makes the run's branch there, where it has one, and aborts what an earlier
 * process left unfinished. Owns the content of `run` from now on, also after a failure. While it waits for
 * the store, it renews the lease of `worker`. */
MUST_CHECK int upload_open(struct upload *upload, struct run *run, bool archived, struct alive_worker *worker,
			   struct error *err);
void upload_close(struct upload *upload);

/* Uploads everything that is new to the store, the checkpoints first. Where the store refuses an object, goes
 * on with the others, and returns this error at the end. *ret_complete: the run is final, all of it is in the
 * store, on a store with commits committed, and its folder in the spool is gone; `tracker` has what the
 * tracking server needs of it. */
MUST_CHECK int upload_pass(struct upload *upload, struct tracker *tracker, bool *ret_complete,
			   struct error *err);

/* Removes from the spool of the current run the checkpoints that the store need not get. To be called while
 * the store cannot be reached, so that the spool does not fill the disk. */
MUST_CHECK int upload_trim_spool(struct error *err);

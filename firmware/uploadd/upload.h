/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-uploadd brings the files of each run from the spool (core/run/spool.h) to the store.
 *
 *     main.c          one screen
 *     uploader.c      goes over the runs, waits, backs off, writes the status page
 *     upload.c        one run: a pass over its files
 *     checkpoints.c   the checkpoints among them, and latest.json
 *     retain.c        which checkpoints stay
 *     put.c, steps.c, watch.c
 *
 * Threads: one. While it waits for the store, the store renews the lease by which systemd knows that it
 * lives.
 *
 * Owners: traind makes the files of the spool, uploadd alone removes them. The store's objects of a run are
 * uploadd's alone, so it may abort uploads that it finds unfinished.
 *
 * Crash: anywhere costs only the work since. Objects appear whole or not at all; latest.json moves only after
 * the object it names was looked at in the store; a file of the spool is removed only after that. The next
 * process finds all it needs in the spool and in the store and remembers nothing of its own.
 */
#pragma once

#include "drivers/notify/alive.h"
#include "uploadd/state.h"

/* Upper bound, in seconds, of a pass without a word: a write of the slowest disk. */
#define UPLOAD_QUIET_S 300u

/* Opens the store for a run, and aborts what an earlier process left unfinished there.
 * Owns: the content of `run`, also on failure. `worker` gets its lease renewed while the store is waited for.
 */
MUST_CHECK int upload_open(struct upload *upload, struct run *run, bool archived, struct alive_worker *worker,
			   struct error *err);
void upload_close(struct upload *upload);

/* Brings everything that is new to the store. *ret_complete: the run is final, all of it is in the store, and
 * its folder in the spool is gone. */
MUST_CHECK int upload_pass(struct upload *upload, bool *ret_complete, struct error *err);

/* Trims the spool of the current run to what the store is to have, for the time that the store is away. */
MUST_CHECK int upload_trim_spool(struct error *err);

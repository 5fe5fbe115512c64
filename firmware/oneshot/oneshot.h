/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs once and ends: verbs of one program, one file each. A verb gets its own name in argv[0] and
 * returns the exit code (core/error.h).
 *
 * begin is two files: begin.c decides which run it is, bring.c brings from the store what that run needs.
 */
#pragma once

#include "core/run.h"
#include "drivers/store/store.h"

/* begin.c: see core/run.h. Prints the run's id. */
int oneshot_begin(int argc, char **argv);

/* release.c: no run will come back: unmount the ring's folder, give its hugepages back to the system. */
int oneshot_release(int argc, char **argv);

/* ---- bring.c ---- */

/* A disk without a record: look at this node's newest run (by run.name) in the store. An unfinished one comes
 * back whole, newest checkpoint and plan first, the record last, and *ret_run is it. Of a final one last_id
 * gets the id. Neither: *ret_run and last_id stay empty. */
MUST_CHECK int bring_last_run(struct store *sink, const char *name, struct run *ret_run,
			      char last_id[static RUN_ID_BYTES], struct error *err);

/* The newest checkpoint of run->start_run, from the spool or the store, to where traind looks for it. One
 * without any is noted as a start from scratch. Free when it is there already. */
MUST_CHECK int bring_start(struct store *sink, const struct run *run, struct error *err);

/* What turned texts into vectors goes with the model, so that it alone is enough to predict: encoder.bin and
 * dataset.json from beside the shards, where there are any, into the spool's model folder. Free when they are
 * there already. */
MUST_CHECK int bring_encoder(struct store *source, const char *run_id, struct error *err);

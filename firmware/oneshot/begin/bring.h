/* SPDX-License-Identifier: Apache-2.0 */
/* Brings what a run needs from the store to this disk: its record, plan, newest checkpoint, encoder. */
#pragma once

#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

/* For a disk without a record: looks at the newest run of this run.name in the store. Brings an unfinished
 * run to this disk, with its newest checkpoint and its plan; writes the record last. Does not touch a run of
 * another machine, and looks at the next older run instead. A final run, which has finished or failed, stays
 * in the store, and *ret_run is what its run.json says, without a configuration. Where there is no run,
 * ret_run->id stays empty. */
MUST_CHECK int bring_last_run(struct store *sink, const char *name, struct run *ret_run, struct error *err);

/* Brings the run `id` to this disk, also where it belongs to another machine. Errors: -EPERM the run is
 * final. */
MUST_CHECK int bring_run(struct store *sink, const char *id, struct run *ret_run, struct error *err);

/* Makes sure that the spool has the newest good checkpoint of a run that goes on: where the spool has none,
 * brings it from the store. *ret_any is false where neither has a checkpoint; the run then starts from its
 * beginning, and an event says so. */
MUST_CHECK int bring_checkpoint(struct store *sink, const char *run_id, bool *ret_any, struct error *err);

/* Brings the newest good checkpoint of a run, from the spool or the store, with which another run is to
 * start: the file RUN_START_FILE in PATH_RUNS, where run_begin() and run_restore() expect it. ret_path is ""
 * where the run has no checkpoint. */
MUST_CHECK int bring_start(struct store *sink, const char *run_id, char ret_path[static PATH_BYTES],
			   struct error *err);

/* Copies encoder.bin, vocabulary.txt and dataset.json into the model folder of the spool, if the source has
 * them beside its shards. They were used to turn texts into vectors, and predictions on new texts need them
 * with the model. Fetches only files that the spool does not have yet. */
MUST_CHECK int bring_encoder(struct store *source, const char *run_id, struct error *err);

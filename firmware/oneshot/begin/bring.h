/* SPDX-License-Identifier: Apache-2.0 */
/* Brings what a run needs from the store to this disk: its record, plan, newest checkpoint, encoder. */
#pragma once

#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

/* For a disk without a record: looks for the last run of this box in the store, the newest one of this
 * run.name. Brings an unfinished run to this disk, with its newest checkpoint and its plan; writes the record
 * last. A final run, which has finished or failed, stays in the store, and *ret_run is what its run.json
 * says, without a configuration. Where there is no run, ret_run->id stays empty. `box` is the box's
 * kiln.conf.
 *
 * Passes over records that are damaged, of another box, of nobody, of a time that is not yet, or of a
 * repeated run, and unfinished runs that name other stores than kiln.conf. Reads 256 records at most. */
MUST_CHECK int bring_last_run(const struct config *box, struct store *sink, struct run *ret_run,
			      struct error *err);

/* Brings the run `id` to this disk, whatever its record says about machine and stores. The stores and
 * `notify` of its configuration are replaced by those of `box`. Errors: -EPERM the run is final, or has
 * another number of sources. */
MUST_CHECK int bring_run(const struct config *box, struct store *sink, const char *id, struct run *ret_run,
			 struct error *err);

/* Brings the run of a trial of this box to this disk, as bring_run() does. Of a final run it brings the plan
 * and the record. The current run must be in the archive, or there is none. Errors: -ENOENT the store has no
 * such run, or it is another box's. */
MUST_CHECK int bring_trial(const struct config *box, struct store *sink, const char *id, struct run *ret_run,
			   struct error *err);

/* Makes sure that the spool has the newest good checkpoint of a run that goes on: where the spool has none,
 * brings it from the store. *ret_any is false where neither has a checkpoint; the run then starts from its
 * beginning, and an event says so. */
MUST_CHECK int bring_checkpoint(struct store *sink, const char *run_id, bool *ret_any, struct error *err);

/* Brings the newest good checkpoint of a run, from the spool or the store, with which another run is to
 * start: the file RUN_START_FILE in PATH_RUNS, where run_begin() and run_restore() expect it. ret_path is ""
 * where the run has no checkpoint. */
MUST_CHECK int bring_start(struct store *sink, const char *run_id, char ret_path[static PATH_BYTES],
			   struct error *err);

/* Copies encoder.bin, vocabulary.txt, tokenizer.json and dataset.json into the model folder of the spool,
 * where the store has them in `folder`: "", beside the shards of a source, or "ID/model/", the model of a
 * run. They were used to turn texts into vectors, and predictions on new texts need them with the model.
 * Fetches only files that the spool does not have yet. */
MUST_CHECK int bring_encoder(struct store *store, const char *folder, const char *run_id, struct error *err);

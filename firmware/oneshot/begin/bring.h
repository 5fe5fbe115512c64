/* SPDX-License-Identifier: Apache-2.0 */
/* Brings what a run needs from the store to this disk: its record, plan, newest checkpoint, encoder. */
#pragma once

#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

/* For a disk without a record: looks at the newest run of this run.name in the store. Brings back an
 * unfinished one with its newest checkpoint and its plan, the record last; but leaves another machine's run
 * alone and looks at the run before it. A final run stays in the store, and *ret_run is what its run.json
 * says, without a configuration. Where there is no run, ret_run->id stays empty. */
MUST_CHECK int bring_last_run(struct store *sink, const char *name, struct run *ret_run, struct error *err);

/* Brings back this run, whichever machine it names. Errors: -EPERM the run is final. */
MUST_CHECK int bring_run(struct store *sink, const char *id, struct run *ret_run, struct error *err);

/* Makes sure that the spool has the newest good checkpoint of a run that goes on, from the store where the
 * spool has none. *ret_any is false where neither has one; the run then starts from its beginning, and an
 * event says so. */
MUST_CHECK int bring_checkpoint(struct store *sink, const char *run_id, bool *ret_any, struct error *err);

/* Brings the newest good checkpoint of a run, from the spool or the store, as the start of another run: a
 * file beside the records, as run_begin() and run_restore() expect it. ret_path is "" where the run has no
 * checkpoint. */
MUST_CHECK int bring_start(struct store *sink, const char *run_id, char ret_path[static PATH_BYTES],
			   struct error *err);

/* Copies encoder.bin, vocabulary.txt and dataset.json, where they lie beside the shards, into the model
 * folder of the spool: they turned texts into vectors, and predictions on new texts need them beside the
 * model. Asks the store only for those that the spool lacks. */
MUST_CHECK int bring_encoder(struct store *source, const char *run_id, struct error *err);

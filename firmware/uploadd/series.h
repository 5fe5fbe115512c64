/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads the records of series: PATH_RUNS/series/<id>/series.json to <sink>/series/<id>/series.json. The
 * file "uploaded" beside a record says which version of the record the store has. A sink with branches
 * gets the record once, when the series has ended (series_stage.h).
 *
 * Order: series_read() -> a pass over all runs -> series_upload(). A trial that has ended in a record had
 * ended before the pass, so the store has all files of the trial before it has the record. A new disk, which
 * knows the series from the store alone, relies on it (oneshot/begin/bring_series.h). */
#pragma once

#include "core/run/run.h"
#include "drivers/notify/alive.h"
#include "uploadd/pause.h"

#define SERIES_RECORD_VERSION 64u /* bytes */

struct series_record {
	char id[RUN_ID_BYTES];
	char version[SERIES_RECORD_VERSION]; /* each change of the file gives another version */
	char *text;
};

/* The records that the store does not have. All 0 at the beginning. */
struct series_records {
	struct series_record *record; /* the newest first */
	uint32_t count;
	struct pause pause; /* between two tries, in a sink with branches */
};

/* Reads the records that have changed since the store has them, in place of those read before. */
MUST_CHECK int series_read(struct series_records *records, struct error *err);
/* Uploads them. Where a sink with branches does not take one, which may be because of another box, tries
 * again after a growing pause, with a warning: nothing waits for that. Errors: those of the store. */
MUST_CHECK int series_upload(struct series_records *records, struct alive_worker *worker, struct error *err);
void series_forget(struct series_records *records);

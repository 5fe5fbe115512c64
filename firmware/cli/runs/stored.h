/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runs and the series in a store. */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

#include <stdint.h>

/* Returns the rows (core/run/run_summary.h) of the newest `limit` runs below the sink, newest first. A run
 * whose record cannot be read has a row {id, error}. Blocks: one request for each row, and one for each page
 * of the list of keys. The caller frees *ret_rows, an array. */
MUST_CHECK int stored_runs(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err);
/* Returns the rows of the newest series, as stored_runs() does those of runs: the rows are those of
 * series_summary() (core/series/series.h). */
MUST_CHECK int stored_series(const struct config *config, uint32_t limit, cJSON **ret_rows,
			     struct error *err);

/* Get the run.json of a run, and the series.json of a series, from below the sink: of a lakefs:// sink from
 * the branch merged into, and the run.json of a trial whose series was merged also from the trial's branch.
 * `id`: NULL = the newest series. The caller deletes the result. Errors: those of a store; -ENOENT; -EBADMSG.
 */
MUST_CHECK int stored_run(const struct config *config, const char *id, cJSON **ret_record, struct error *err);
MUST_CHECK int stored_one_series(const struct config *config, const char *id, cJSON **ret_series,
				 struct error *err);

/* Compares two ids by the time at which their runs began; for qsort(), newest first. */
int stored_newest_first(const char *a, const char *b);

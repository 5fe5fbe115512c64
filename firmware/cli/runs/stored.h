/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runs and the series in a store. */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

#include <stdint.h>

/* A lakefs:// sink has records in two places: the branch merged into and, where that is another one, the
 * branch of sink.url; of two records of one id the first counts. A trial whose run has no record there is
 * listed as the record of its series has it, and its run.json is read from the trial's branch. */

/* Returns the rows (core/run/run_summary.h) of the newest `limit` runs below the sink, newest first. A run
 * whose record cannot be read has a row {id, error}. Blocks: one request for each row, and one for each page
 * of the list of keys; on a lakefs:// sink also one for each of the newest `limit` series. The caller frees
 * *ret_rows, an array. */
MUST_CHECK int stored_runs(const struct config *config, uint32_t limit, cJSON **ret_rows, struct error *err);
/* Returns the rows of the newest series, as stored_runs() does those of runs: the rows are those of
 * series_summary() (core/series/series.h). */
MUST_CHECK int stored_series(const struct config *config, uint32_t limit, cJSON **ret_rows,
			     struct error *err);

/* Get the run.json of a run, and the series.json of a series, from below the sink. `id`: NULL = the newest
 * series. The caller deletes the result. Errors: those of a store; -ENOENT; -EBADMSG. */
MUST_CHECK int stored_run(const struct config *config, const char *id, cJSON **ret_record, struct error *err);
MUST_CHECK int stored_one_series(const struct config *config, const char *id, cJSON **ret_series,
				 struct error *err);
/* Finds where the files of a run are: the sink, of a lakefs:// sink with the branch that has the run. Asks no
 * other store. Errors: as stored_run(). */
MUST_CHECK int stored_run_sink(const struct config *config, const char *id, struct config_store *ret_sink,
			       struct error *err);

/* Moves a row to its place in rows that are sorted, newest first; the box's current run stays the first.
 * Returns false, and leaves the row with the caller, where the rows have its id. */
bool stored_insert(cJSON *rows, cJSON *row);
/* Deletes the oldest rows of more than `limit`. */
void stored_trim(cJSON *rows, uint64_t limit);

/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the unfinished series of this box from the store to a new disk. */
#pragma once

#include "core/series/series.h"

/* For a disk that has no unfinished series, and either no run or one that is a trial of a series which is not
 * there: looks for the newest series of this run.name in the store that is this box's. Where it is
 * unfinished, and names the stores of kiln.conf (`file`), brings the records of its trials: of those that
 * train or are parked with their newest checkpoints, of the best that has finished for the end of the series.
 * A trial whose run the store does not have waits again. Writes series.json last, so that a crash before it
 * is one before all. On a store with branches nothing is brought, because its series.json comes at the end of
 * the series: a warning names the branches that are left (left_series.h).
 *
 * Returns 1 where it brought *ret_series, which the caller deletes, else 0. Errors: those of the store and of
 * bring_trial(). */
MUST_CHECK int bring_series(const char *file, cJSON **ret_series, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads the records of series: PATH_RUNS/series/<id>/series.json to <sink>/series/<id>/series.json. */
#pragma once

#include "drivers/notify/alive.h"

/* The newest record that this process has uploaded; all zeros at first. */
struct series_uploaded {
	uint64_t changed_ns; /* when it was written */
};

/* Uploads the newest two records where they have changed: a series may have ended, and the next one begun,
 * since the last call. Errors: those of the store. */
MUST_CHECK int series_upload(struct series_uploaded *uploaded, struct alive_worker *worker,
			     struct error *err);

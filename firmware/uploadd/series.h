/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads the records of series: PATH_RUNS/series/<id>/series.json to <sink>/series/<id>/series.json. The
 * file "uploaded" beside a record has the time of the record that the store has. */
#pragma once

#include "drivers/notify/alive.h"

/* Uploads all records that have changed since the store has them, the newest series first. Errors: those of
 * the store. */
MUST_CHECK int series_upload(struct alive_worker *worker, struct error *err);

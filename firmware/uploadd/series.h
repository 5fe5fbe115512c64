/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads the records of series: PATH_RUNS/series/<id>/series.json to <sink>/series/<id>/series.json. The
 * file "uploaded" beside a record has the time of the record that the store has. A sink with branches gets
 * the record once, when the series has ended (series_stage.h). */
#pragma once

#include "drivers/notify/alive.h"
#include "uploadd/pause.h"

/* Uploads all records that have changed since the store has them, the newest series first. Where a sink with
 * branches does not take one, which may be because of another box, tries again after a growing pause, with a
 * warning: nothing waits for that. Errors: those of the store. */
MUST_CHECK int series_upload(struct pause *pause, struct alive_worker *worker, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the progress of the run to the status object: from the status pages while the daemons work, from the
 * run record afterwards.
 */
#pragma once

#include "controld/status/view.h"

/* Adds run, progress, rates, loss, accuracy, validation_* and checkpoint. */
void training_add_run(cJSON *object, const struct view *view);
/* Adds order, cache, fetch_retries, upload_retries, skipped_records, throttled_s and fetch. */
void training_add_work(cJSON *object, const struct view *view);
/* Returns {hits, hit_bytes, misses, kept, next_objects, next_bytes} of fetchd's page; JSON null if the run
 * has no cache. */
cJSON *training_cache(const struct status *fetchd);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which checkpoints to keep, in the store and in the spool, and deletes the others. The decisions are
 * pure functions.
 *
 *     the store   the newest checkpoint.keep of all that exist (spool or store), the best, and everything
 *                 from the step that latest.json names: a reader that has just read latest.json must find
 *                 its object
 *     the spool   the newest two, since traind may have to return to an older one where the newest is
 *                 damaged; and those that are still to be uploaded
 */
#pragma once

#include "core/base/json.h"
#include "uploadd/state.h"

/* Finds the step of the best epoch by keep_best.monitor; without that, of the highest validation accuracy,
 * then the lowest validation loss. Where several are equally good, the first of them. */
void retain_find_best(struct upload *upload, const cJSON *record);
/* Returns whether the store should have this checkpoint. `local`: the checkpoints in the spool. */
bool retain_wants(const struct upload *upload, const struct steps *local, uint64_t step);
/* Deletes checkpoints that the store should not have from the store, then trims the spool. */
MUST_CHECK int retain_apply(struct upload *upload, const struct steps *local, struct error *err);
/* Deletes checkpoints from the spool that have two newer ones there, and that the store has, or should not
 * have. */
MUST_CHECK int retain_trim_spool(const struct upload *upload, const struct steps *local, struct error *err);

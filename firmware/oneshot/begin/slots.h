/* SPDX-License-Identifier: Apache-2.0 */
/* How many slots (core/base/slot.h) work on a series tonight. */
#pragma once

#include "core/config/config.h"
#include "core/series/series.h"

/* `slots_max`: how many slots the caller of kiln-oneshot begin can start, 1 .. SLOTS_MAX.
 * For slot 0, under series_lock(), before a trial begins. Sets the member "slots" of the record, which the
 * caller writes: series.parallel of the frozen configuration, or fewer where the box has fewer devices
 * (core/box/usable.h). A trial that has begun in a slot which is not used tonight goes on in slot 0, after
 * the trial of that slot: its run is parked meanwhile. Where its run has ended, this is noted. A run of
 * another slot that is unfinished and belongs to no unfinished series has failed: nobody would go on with it.
 * Crash: harmless, the caller calls again. */
MUST_CHECK int slots_set(cJSON *series, const struct config *config, unsigned slots_max, struct error *err);

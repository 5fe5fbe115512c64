/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the device waits for data: kiln-fetchd counts for how long the reader of the ring waited, by the stage
 * that the missing data was in. It also tells which limits (requests, workers, windows) it chose meanwhile,
 * and, of a run with several ranks, what each of them waits for (core/run/status_ranks.h).
 */
#pragma once

#include "core/base/json.h"
#include "core/run/status.h"

/* Returns the answer of the method stalls, which is also the member "fetch" of the status. `fetchd` and
 * `traind` are status pages or NULL; without the page of fetchd the answer is {"run": null}. NULL: no
 * memory. */
cJSON *stalls_object(const struct status *fetchd, const struct status *traind);

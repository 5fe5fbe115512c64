/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the device waits for data: kiln-fetchd counts for how long the reader of the ring waited, by the stage
 * that the missing data was in, and tells which limits (requests, workers, windows) it chose meanwhile.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/status.h"

/* The answer of stalls, and "fetch" of the status. Without a page of fetchd {"run": null}; `traind` may be
 * NULL. NULL: no memory. */
cJSON *stalls_object(const struct status *fetchd, const struct status *traind);

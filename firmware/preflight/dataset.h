/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.json, which kiln prep writes beside the shards, against `schema`. Private to preflight. */
#pragma once

#include "drivers/store/store.h"
#include "preflight/preflight.h"

/* Adds a row for each difference that ends a run; none where there is no dataset.json. `certain`: no record
 * was seen that fits, so that dataset.json is all that is known; otherwise the records say more than it. */
void preflight_dataset(struct preflight *preflight, struct store *store, bool certain);

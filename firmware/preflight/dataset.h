/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.json, which kiln prep writes beside the shards, against `schema`. Private to preflight. */
#pragma once

#include "drivers/store/store.h"
#include "preflight/preflight.h"

/* Adds a row for each difference that ends a run; none where there is no dataset.json. */
void preflight_dataset(struct preflight *preflight, struct store *store);

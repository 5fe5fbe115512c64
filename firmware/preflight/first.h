/* SPDX-License-Identifier: Apache-2.0 */
/* The first records of a split: whether the schema and the filter fit them. Private to preflight. */
#pragma once

#include "drivers/store/store.h"
#include "preflight/preflight.h"

/* Reads the begin of a shard and parses its records, at most FIRST_RECORDS_MAX. Adds a row for what does not
 * fit; none where all fits. `shard`: the first one of a split. */
#define FIRST_RECORDS_MAX 100u
void preflight_first(struct preflight *preflight, struct store *store, const struct store_object *shard);

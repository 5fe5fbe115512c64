/* SPDX-License-Identifier: Apache-2.0 */
/* The first records of a split: whether the schema and the filter fit them. Private to preflight. */
#pragma once

#include "core/ring/cursor.h"
#include "drivers/store/store.h"
#include "preflight/preflight.h"

/* Reads the begin of a shard, 1 MiB, and parses those of its first FIRST_RECORDS_MAX records that the filter
 * takes; where it takes none of them, goes on to the first that it takes. Adds a row for what does not fit;
 * none where all fits. `shard`: the first one of `split`. Returns whether records
 * were seen and fit. */
#define FIRST_RECORDS_MAX 100u
bool preflight_first(struct preflight *preflight, struct store *store, enum split split,
		     const struct store_object *shard);

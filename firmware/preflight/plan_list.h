/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the plan of a configuration (data/plan.h) from listings of all its sources: kiln-fetchd that of a
 * run, `kiln preview` that of the run which would begin with the configuration. So both read the same shards
 * in the same order.
 *
 * Where the bucket keeps versions, the plan pins them. One thread. Crash: the file appears by rename when it
 * is complete.
 */
#pragma once

#include "core/config/config.h"
#include "data/plan.h"
#include "drivers/store/store.h"

/* The configuration key that names the objects of a split of a source, and its value. */
struct plan_glob {
	const char *key, *text;
};
struct plan_glob plan_glob_of(const struct config *config, uint32_t source, enum split split);

/* Lists all sources and writes the plan to `path`. Blocks: on the network, minutes for large listings.
 * `options`: attempts, time limits and awake() of the stores; NULL = store_options_of(config). Errors:
 * -ENOENT no object matches a glob; those of plan_add() and of the store. */
MUST_CHECK int plan_list(const struct config *config, const struct store_options *options, const char *path,
			 struct error *err);
/* Checks that each lane of each source has a train shard, and that no object is in two splits: a figure on
 * records that were trained on says nothing. Errors: -EINVAL with the keys of the configuration and the
 * object. */
MUST_CHECK int plan_list_check(const struct config *config, const struct plan *plan, struct error *err);

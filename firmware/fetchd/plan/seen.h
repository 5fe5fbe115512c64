/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the weights that a run starts with were trained on shards that now validate or test the run: such
 * figures are too good. It compares the new plan with the plans of the run that the weights are
 * from, of the run that this one started from, and so on, SEEN_RUNS_MAX runs back. A shard was trained on
 * where key, size and ETag are the same. Where the key is the same and the object is another, as after `kiln
 * prep
 * --replace`, nobody knows which records moved from the training to the validation: such a shard counts as
 * replaced. A run whose plan is not in the store any more ends the search.
 */
#pragma once

#include "core/run/run.h"
#include "data/plan.h"
#include "drivers/store/store.h"

#define SEEN_RUNS_MAX 16u

/* Compares, and where there are such shards sends an event for each of the two splits and adds
 * "validation_seen" or "test_seen" to run.json. Call it when the plan is made. Main thread. Blocks: on the
 * network. Errors: those of the store and of the record.
 */
MUST_CHECK int seen_note(const struct run *run, struct store *sink, const struct plan *plan,
			 struct error *err);

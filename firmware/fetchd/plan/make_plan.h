/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run's plan (data/plan.h): made from listings of all sources at the run's first start, opened and
 * checked at every other start. The main thread calls, before any other thread runs.
 *
 * Where the bucket keeps versions, the plan pins them: a shard that is overwritten later is still read as it
 * was.
 *
 * Crash: the plan is written, uploaded, and only then named in the run record. A start that finds no plan in
 * the record makes it anew; a record that names a plan has it in the store.
 */
#pragma once

#include "core/run/run.h"
#include "data/plan.h"

/* Waits until no other rank of the run makes the plan: the ranks read one record and write one plan. Call it
 * before run_load(), so that a rank that has waited reads the record with the plan in it. *ret_lock, closed
 * after fetch_plan(), ends the wait of the others. Errors: those of file_lock(). */
MUST_CHECK int fetch_plan_lock(int *ret_lock, struct error *err);

/* Opens or makes the plan. Main thread. Blocks: on the network, minutes for large listings.
 * Errors: -ENOENT no object matches a glob; -EINVAL the configuration does not fit the objects; -EBADMSG the
 * plan is not the one that the record names; those of the store. */
MUST_CHECK int fetch_plan(const struct run *run, struct plan **ret_plan, struct error *err);

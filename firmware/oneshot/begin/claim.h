/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim of a run is its run.json in the store, with the members "machine" and "root". A run's id is made
 * of run.name and the second in which the run was begun, so two boxes with the same run.name may make the
 * same id. The store takes a new run.json only where it has none of this key (If-None-Match), so one of the
 * two boxes gets the id and the other a later one.
 */
#pragma once

#include "core/run/run.h"
#include "drivers/store/store.h"

/* Notes in the record that this machine works on the run. Where the record has no machine yet, first claims
 * the run's id in the store; while another box has that id, gives the run a later id and tries again.
 * `goes_on`: an attempt that was killed may have put the claim into the store already. Blocks: a second for
 * each id that is taken. */
MUST_CHECK int claim_run(struct store *sink, struct run *run, bool goes_on, struct error *err);

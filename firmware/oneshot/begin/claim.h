/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim of a run: its run.json in the store, with "machine". An id is the second in which the run was
 * begun, so two boxes with one run.name may make the same id. The store accepts a new run.json only if it has
 * no object with this key (If-None-Match), so one of the two boxes gets the id and the other a later one.
 */
#pragma once

#include "core/run/run.h"
#include "drivers/store/store.h"

/* Notes this machine in the record as the one that works on the run. Claims the id of a record that names no
 * machine yet, and renames the run for as long as another box has that id. `goes_on`: an attempt that was
 * killed may have put the claim into the store already.
 * Blocks: a second for each id that is taken. */
MUST_CHECK int claim_run(struct store *sink, struct run *run, bool goes_on, struct error *err);

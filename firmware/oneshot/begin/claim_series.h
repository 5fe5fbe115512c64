/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim of a series is its series.json in the store, as that of a run is its run.json (claim.h). On a
 * store with branches it lies on the branch of the first trial, which is made with it and begins where all of
 * them do; the trial's one commit takes it.
 */
#pragma once

#include "core/series/series.h"

/* Notes in the record that this machine works on the series. Where the record has no machine yet, first
 * claims the id of the series in the store; while another box has that id, or somebody has a branch of the
 * first trial's name, gives the series a later one and tries again. On a store with branches also notes
 * "sink_commit" (branch.h). `goes_on`: an attempt that was killed may have put the claim into the store
 * already. Call it before the first trial begins. Blocks and errors: as claim_run(). */
MUST_CHECK int claim_series(cJSON *series, bool goes_on, struct error *err);

/* Returns what a record says of the box that works on the series, for run_is_ours() and the like: a run with
 * no other members. */
struct run claim_box_of(const cJSON *series);

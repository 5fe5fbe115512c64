/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim of a run is its run.json in the store, with the members "machine" and "root". A run's id is made
 * of run.name and the second in which the run was begun, so two boxes with the same run.name may make the
 * same id. The store takes a new run.json only where it has none of this key (If-None-Match), so one of the
 * two boxes gets the id and the other a later one. A store that takes the second one, too, does not know the
 * condition: there each box reads the record back after CLAIM_SETTLE_S, and the box whose record was replaced
 * takes a later id.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

/* So many later ids are tried. More that are taken are no other boxes, but a store that answers wrong. */
#define CLAIM_IDS_MAX 60u
/* Longer than a box needs to put its claim into the store. */
#define CLAIM_SETTLE_S 10u

/* Notes in the record that this machine works on the run. Where the record has no machine yet, first claims
 * the run's id in the store; while another box has that id, gives the run a later id and tries again.
 * `sink` NULL: nothing is claimed, because the name of the run's branch is a claim. `goes_on`: an attempt
 * that was killed may have put the claim into the store already. Blocks: a second for each id that is taken;
 * CLAIM_SETTLE_S where the store does not know the condition. Errors: -EAGAIN all CLAIM_IDS_MAX ids are
 * taken; those of the store. */
MUST_CHECK int claim_run(struct store *sink, struct run *run, bool goes_on, struct error *err);

/* ---- The steps of a claim, for other records, too ---- */

/* Adds the members "machine" and "root" of this box to a record. */
MUST_CHECK int claim_add_box(cJSON *record, struct error *err);
/* Puts a claim into the store, where it has none. Returns 1 where the store knows that condition: a second
 * claim with another byte at its end is refused. Returns 0 where the store takes the second one, too, or says
 * that it does not support the condition. -EEXIST there is a claim already. */
MUST_CHECK int claim_put(struct store *sink, const char *key, const char *claim, struct error *err);
/* Waits until any other box has put its claim, too: then the caller looks whose claim stayed. */
void claim_settle(struct store *sink);

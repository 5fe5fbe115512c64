/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop: follows the reader's cursor, one step of production after the other, until the run is final.
 *
 * Why generations: the reader alone knows which weights it has, so the reader says where the run goes on. A
 * trainer that starts from a checkpoint asks the ring for the checkpoint's cursor, unless the next slot in
 * the ring already follows it. This begins a generation: slots of the one before are released unread. The
 * producer looks for a new generation before each step; it then gives up all loads, waits until no thread
 * works for the old generation any more, and starts at the new cursor.
 *
 * When kiln-fetchd itself restarts, the generation goes on after its last committed slot: ring_request()
 * returns the cursor in that slot. Claims without a commit were never visible to the reader. So the main loop
 * has one way to start, for the first start, a new trainer and a crash alike.
 */
#pragma once

#include "fetchd/shared/fetch.h"

/* Returns 0 when the run is final. `listed_us`: how long fetch_plan() took, for the status page.
 * Errors: -EUCLEAN the ring is damaged; -ESTALE other boxes train the run now (ranks_again()); -ENOMEM. */
MUST_CHECK int fetch_run(struct fetch *fetch, uint64_t listed_us, struct error *err);

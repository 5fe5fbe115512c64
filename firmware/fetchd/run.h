/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop: follows the reader's cursor, one step of production after the other, until the run is final.
 *
 * Each generation of the ring begins at the cursor that the reader asks for. The producer then gives up all
 * loads, waits until every thread is quiet, and starts at that cursor.
 */
#pragma once

#include "fetchd/fetch.h"

/* Returns 0 when the run is final. `listed_us`: what making or opening the plan took, for the status page.
 * Errors: -EUCLEAN the ring is damaged; -ENOMEM. */
MUST_CHECK int fetch_run(struct fetch *fetch, uint64_t listed_us, struct error *err);

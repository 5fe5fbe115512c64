/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the records of a span into the columns of their slot: the hot path, per record.
 *
 * Why in runs of WINDOW_RECORDS_MAX: the records of a shuffled window lie anywhere in memory, so each one
 * would be a wait for memory. First the positions of a run are computed together, then each record is
 * prefetched while the one before it is parsed.
 */
#pragma once

#include "data/batch.h"
#include "fetchd/shard/work.h"
#include "fetchd/shared/fetch.h"
#include "fetchd/workers/pending.h"

/* Fills the rows of a span; `decoder`: the worker's. A worker calls, without the lock. A bad record leaves
 * its row empty; pending->err is that of the slot's first bad row, whichever worker finds it. Signals
 * fetch->progress. */
void gather_span(struct fetch *fetch, struct batch_decoder *decoder, const struct span *span);

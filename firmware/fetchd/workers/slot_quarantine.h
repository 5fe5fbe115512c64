/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list, in each slot, of the records that it leaves out (data/quarantine.h), where fetch.bad_record is
 * "skip"; otherwise these functions do nothing. The lock is held.
 */
#pragma once

#include "fetchd/fetch.h"
#include "fetchd/windows/window_records.h"
#include "fetchd/workers/pending.h"

/* A slot begins with the list of `unplaced`, which is emptied. */
void quarantine_begin(struct fetch *fetch, struct pending *pending, struct ring_quarantine *unplaced);

/* A row of the slot stays empty, for this record. */
void quarantine_row(struct fetch *fetch, struct pending *pending, uint32_t row, struct window_record record);

/* Shards of a window lost their rest: note it in the slot or, without a slot, in `unplaced` for the next one.
 */
void quarantine_lost(struct fetch *fetch, struct pending *pending, const struct window *window,
		     struct ring_quarantine *unplaced);

/* The slot is about to be committed. */
void quarantine_seal(struct fetch *fetch, struct pending *pending);

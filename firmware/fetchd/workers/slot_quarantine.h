/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list, in each slot, of the records that the slot leaves out (data/quarantine.h), with fetch.bad_record
 * = "skip"; with "stop" these functions do nothing. The lock is held.
 */
#pragma once

#include "fetchd/shared/fetch.h"
#include "fetchd/windows/window_records.h"
#include "fetchd/workers/pending.h"

/* Begins a slot's list with the records of `unplaced`, which is emptied. */
void quarantine_begin(struct fetch *fetch, struct pending *pending, struct ring_quarantine *unplaced);

/* Returns the byte of the shard at which a record begins; 0 for an object. */
uint64_t quarantine_place(const struct fetch *fetch, struct window_record from);

/* Notes that a row of the slot stays empty because of this record. */
void quarantine_row(struct fetch *fetch, struct pending *pending, uint32_t row, struct window_record record);

/* Notes the shards of a window whose rest is lost: in the slot's list or, without a slot, in `unplaced` for
 * the next slot.
 */
void quarantine_lost(struct fetch *fetch, struct pending *pending, const struct window *window,
		     struct ring_quarantine *unplaced);

/* Sets the bytes of the list's column, before the slot is committed. */
void quarantine_seal(struct fetch *fetch, struct pending *pending);

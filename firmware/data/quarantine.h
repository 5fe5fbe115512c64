/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the records that a slot leaves out, with fetch.bad_record = "skip": a page in a column of the
 * slot. kiln-fetchd fills the page while rows are gathered; kiln-traind adds it to the list in its
 * checkpoints. Zero the page first.
 */
#pragma once

#include "core/ring/ring.h"

/* Adds a record. A page is sorted by row, shard and offset, and a full page drops its last record for an
 * earlier one: the page is the same in whatever order workers find the records. O(records); one thread at a
 * time. */
void quarantine_note(struct ring_quarantine *page, const struct ring_quarantined *record);

/* Returns the used bytes of the column; 0 = the slot leaves out no record. */
uint64_t quarantine_bytes(const struct ring_quarantine *page);

/* Copies `bytes` bytes of a column and checks them. Errors: -EUCLEAN the page is damaged. */
MUST_CHECK int quarantine_read(const void *column, uint64_t bytes, struct ring_quarantine *ret_page,
			       struct error *err);

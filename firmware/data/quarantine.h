/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which records a slot leaves out, by fetch.bad_record = "skip": kiln-fetchd fills the column while the rows
 * are gathered, kiln-traind adds it to the list that its checkpoints hold. A page is zeroed first.
 */
#pragma once

#include "core/ring/ring.h"

/* Keeps the records sorted by row, then shard and offset, and where there are too many the first of them, so
 * that a page does not depend on the order of the calls. O(records); one thread at a time. */
void quarantine_note(struct ring_quarantine *page, const struct ring_quarantined *record);

/* Bytes of the column that are used. 0: it left out nothing. */
uint64_t quarantine_bytes(const struct ring_quarantine *page);

/* A reader's own copy of `bytes` bytes of a column. Errors: -EUCLEAN they are not what they say. */
MUST_CHECK int quarantine_read(const void *column, uint64_t bytes, struct ring_quarantine *ret_page,
			       struct error *err);

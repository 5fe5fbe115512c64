/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot of the ring between claim and commit. The producer claims it and hands out its rows as spans;
 * workers fill them in any order; the producer commits slots in order, once they are sealed and without
 * spans. Guarded by fetch->lock, except the slot's columns: each row belongs to the worker that has its
 * span.
 */
#pragma once

#include "core/base/error.h"
#include "core/ring/ring.h"
#include "data/example.h"

struct pending {
	struct ring_slot *slot;
	enum ring_kind kind;
	enum split split;
	uint64_t segment, batch, first_row;
	uint32_t rows, skipped, empty; /* skipped: bad records; empty: rows of lanes that have ended */
	uint32_t spans;                /* spans handed out and not finished */
	bool sealed;                   /* no further rows, and `cursor` is set */
	bool packed;                   /* the ragged columns are packed, into packed_bytes[feature] bytes */
	uint64_t packed_bytes[EXAMPLE_FEATURES_MAX];
	struct cursor cursor; /* after this slot */
	struct error err;     /* code 0 = good */
	uint32_t err_row;
	const char *err_key; /* object of the error or of a skipped record; NULL = none */
	uint64_t err_offset;
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot from claim to seal. Order: slot_claim -> (slot_seal | slot_batch | slot_fail), then publish.c
 * commits it.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Claims the ring's next slot, for the rows at the cursor. */
enum step slot_claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending);

/* Seals a slot: no further rows; the slot carries the cursor as it is now. */
void slot_seal(struct producer *producer, struct pending *pending);

/* Moves the cursor past the open slot's batch, and seals the slot. */
void slot_batch(struct producer *producer);

/* Ends the generation with an ERROR slot: the open slot, or a new one. `key` may be NULL. */
enum step slot_fail(struct producer *producer, const struct error *err, const char *key, uint64_t offset);

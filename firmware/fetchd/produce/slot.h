/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot from claim to seal. Order: slot_claim -> (slot_seal | slot_batch | slot_fail), then publish.c.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Claim the ring's next slot, for the place at the cursor. */
enum step slot_claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending);

/* No further rows: the slot carries the cursor as it is now. */
void slot_seal(struct producer *producer, struct pending *pending);

/* The open slot is a batch: move the cursor past it and seal it. */
void slot_batch(struct producer *producer);

/* End the generation with an ERROR slot: the open one, or a new one. `key` may be NULL. */
enum step slot_fail(struct producer *producer, const struct error *err, const char *key, uint64_t offset);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches from the ring that kiln-fetchd fills (core/ring/ring.h): attach at a cursor, get the next slot,
 * read it as a batch, give it back. A ring of another run, an older firmware's or a damaged one is replaced
 * by kiln-fetchd when it starts; until then the trainer waits. Everything in a slot is the peer's memory:
 * read each number once, before the slot is given back. Main thread only.
 *
 * Order: batches_ask -> batches_wait_plan -> batches_attach -> (batches_next -> batches_read ->
 * batches_release)*.
 */
#pragma once

#include "core/ring/ring.h"
#include "model/model.h"

#include <stdbool.h>

struct train;

struct batches {
	bool asked; /* batches_ask() has asked for the first batch, and batches_attach() has not used it */
	uint32_t inputs, input[MODEL_INPUTS_MAX], label, weight, empty, left_out; /* columns of the ring */
};

/* Asks kiln-fetchd for the first batch of a run without a checkpoint, so that it reads while the device is
 * still being opened. Does nothing where that is not possible: batches_attach() asks later. */
void batches_ask(struct train *train);
/* Waits until kiln-fetchd has fixed the plan, which checkpoints name. Errors: -ECANCELED. */
MUST_CHECK int batches_wait_plan(struct train *train, struct error *err);
/* Opens the ring, waiting until there is one that fits, and asks for the batch after the model's cursor.
 * Errors: -ECANCELED. */
MUST_CHECK int batches_attach(struct train *train, struct error *err);

/* The next slot. While none is there: gives back all slots, writes a checkpoint if one is due, and waits.
 * Errors: -ECANCELED. */
MUST_CHECK int batches_next(struct train *train, const struct ring_slot **ret_slot, struct error *err);
/* Split of a slot, always below SPLIT_MAX. */
enum split batches_split(const struct ring_slot *slot);
/* A slot of RING_DATA as a batch; the memory stays the ring's until the slot is given back. */
void batches_read(const struct train *train, const struct ring_slot *slot, struct model_batch *ret_batch);
/* Adds the records that a slot leaves out to the quarantine list. Errors: -EUCLEAN. */
MUST_CHECK int batches_add_left_out(struct train *train, const struct ring_slot *slot, struct error *err);
/* Gives back the slots that the device has finished; with `all`, waits for all of them. */
MUST_CHECK int batches_release(struct train *train, bool all, struct error *err);
/* Gives back a slot of RING_ERROR and returns its error. */
MUST_CHECK int batches_refuse(struct train *train, const struct ring_slot *slot, struct error *err);

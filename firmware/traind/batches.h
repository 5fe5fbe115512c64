/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches from the ring that kiln-fetchd fills (core/ring/ring.h): attach at a cursor, get the next slot,
 * read it as a batch, give it back. The ring may be damaged, or come from another run or an older firmware:
 * kiln-fetchd replaces such a ring when it starts, and until then the trainer waits. kiln-fetchd can write to
 * a slot at any time: read each number once, before the slot is given back. Main thread only.
 *
 * Order: batches_ask -> batches_wait_plan -> (batches_attach -> (batches_look | batches_next -> batches_read
 * -> batches_release)*)*.
 */
#pragma once

#include "core/ring/ring.h"
#include "model/model.h"

#include <stdbool.h>

struct train;

struct batches {
	bool asked; /* batches_ask() has asked for the first batch, which batches_attach() has not used yet */
	bool told;  /* an event says that the ring is damaged, and no ring since then was not */
	uint64_t said_us; /* when the log last said that there is no ring; 0 = there is one */
	/* indexes of the ring's columns */
	uint32_t inputs, input[MODEL_INPUTS_MAX], label, weight, empty, left_out;
};

/* Asks kiln-fetchd for the first batch of a run without a checkpoint, so that kiln-fetchd reads while the
 * device is still being opened. Does nothing if the run has a checkpoint or there is no ring yet:
 * batches_attach() asks later. */
void batches_ask(struct train *train);
/* Waits until kiln-fetchd has fixed the plan, whose hash each checkpoint contains. Errors: -ECANCELED. */
MUST_CHECK int batches_wait_plan(struct train *train, struct error *err);
/* The next slot is the one after the model's cursor. Closes the ring, unless batches_ask() has asked for just
 * that slot; batches_look() opens it again. */
void batches_attach(struct train *train);

/* Looks for the next slot. While there is none: gives back all slots, writes a checkpoint if one is due, and
 * waits up to a second. Errors: -EAGAIN there is no slot or no ring of this run yet; those of the ring. */
MUST_CHECK int batches_look(struct train *train, const struct ring_slot **ret_slot, struct error *err);
/* Looks until there is a slot, and obeys the operator meanwhile. Errors: -ECANCELED; those of the ring. */
MUST_CHECK int batches_next(struct train *train, const struct ring_slot **ret_slot, struct error *err);
/* Returns the split of a slot, always below SPLIT_MAX. */
enum split batches_split(const struct ring_slot *slot);
/* Checks that a slot of kind RING_DATA or RING_END_SEGMENT is the one after the model's cursor: the same
 * split and segment, the next batch, and a cursor that counts a step for a batch of training and none for
 * anything else. Only then do step and cursor of the model always belong together. Waits for the batches in
 * flight before it gives back a slot that it refuses: while an older slot is held, the ring still offers the
 * refused one to the next start. Errors: -EUCLEAN with what was found and expected. */
MUST_CHECK int batches_follow(struct train *train, const struct ring_slot *slot, struct error *err);
/* Reads a slot of kind RING_DATA as a batch. The batch points into the ring until the slot is given back. */
void batches_read(const struct train *train, const struct ring_slot *slot, struct model_batch *ret_batch);
/* Adds the records that a slot leaves out to the quarantine list. Errors: -EUCLEAN. */
MUST_CHECK int batches_add_left_out(struct train *train, const struct ring_slot *slot, struct error *err);
/* Gives back the slots that the device has finished; with `all`, waits for all of them. */
MUST_CHECK int batches_release(struct train *train, bool all, struct error *err);
/* Returns the error that a slot of kind RING_ERROR contains, and gives the slot back. */
MUST_CHECK int batches_refuse(struct train *train, const struct ring_slot *slot, struct error *err);

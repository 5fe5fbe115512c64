/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/slot.h"

#include "fetchd/workers/slot_quarantine.h"

#include <string.h>

enum step slot_claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending)
{
	uint64_t slots = producer->fetch->run.config.ring.slots;
	struct pending *pending = &producer->pending[producer->head % slots];
	struct ring_slot *slot;
	int r = ring_claim(producer->fetch->ring, &slot);

	if (r < 0)
		return r == -EAGAIN ? STEP_WAIT_RING : STEP_BROKEN;
	memset(pending, 0, sizeof(*pending));
	pending->slot = slot;
	pending->kind = kind;
	pending->split = producer->cursor.split;
	pending->segment = producer->cursor.segment;
	pending->batch = producer->cursor.batch;
	pending->first_row = producer->cursor.rows;
	producer->head++;
	quarantine_begin(producer->fetch, pending, &producer->unplaced);
	*ret_pending = pending;
	return STEP_DONE;
}

void slot_seal(struct producer *producer, struct pending *pending)
{
	pending->cursor = producer->cursor;
	pending->sealed = true;
}

enum step slot_fail(struct producer *producer, const struct error *err, const char *key, uint64_t offset)
{
	struct pending *pending = producer->open;
	enum step step = pending ? STEP_DONE : slot_claim(producer, RING_ERROR, &pending);

	if (step != STEP_DONE)
		return step;
	producer->open = NULL;
	/* The error of a row that is already in this slot comes first. */
	if (!pending->err.code) {
		pending->err = *err;
		pending->err_key = key;
		pending->err_offset = offset;
	}
	slot_seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

void slot_batch(struct producer *producer)
{
	struct cursor *cursor = &producer->cursor;

	cursor->batch++;
	cursor->rows += producer->batch.global_rows;
	if (cursor->split == SPLIT_TRAIN)
		cursor->step++;
	slot_seal(producer, producer->open);
	producer->open = NULL;
}

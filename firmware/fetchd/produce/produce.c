/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/produce.h"

#include "data/batch.h"
#include "fetchd/produce/deal.h"
#include "fetchd/produce/end.h"
#include "fetchd/produce/fill.h"
#include "fetchd/produce/segment.h"
#include "fetchd/produce/slot.h"

#include <inttypes.h>

/* A batch goes through three states, which outlive many steps, as each step only does what is possible now:
 *   begin_batch()   needs a free slot; deals the rows
 *   fill_batch()    needs records; hands out spans
 *   finish_batch()  leaves the rest empty, seals the slot and moves the cursor
 * A step that cannot go on returns what it waits for, and is called again. */

/* ---- Batches ---- */

/* Rows that order.skip_rows passes over are dealt and filled like others, in batches without a slot. */
static enum step begin_batch(struct producer *producer)
{
	const struct plan_settings *settings = producer->fetch->settings;
	uint64_t rows = settings->batch_rows, slot = producer->fetch->run.config.ring.slots;
	bool train = producer->cursor.split == SPLIT_TRAIN;
	enum step step;

	if (producer->pass_over == 0) {
		step = slot_claim(producer, RING_DATA, &producer->open);
		if (step != STEP_DONE)
			return step;
		slot = (uint64_t)(producer->open - producer->pending);
		if (train && settings->take_rows > 0 && settings->take_rows - producer->cursor.rows < rows)
			rows = settings->take_rows - producer->cursor.rows;
	} else if (producer->pass_over < rows) {
		rows = producer->pass_over;
	}
	if (train)
		deal_rows(producer, rows, producer->dealt + slot * 2 * settings->batch_rows);
	else
		deal_evaluation(producer, rows);
	producer->filling = true;
	return STEP_DONE;
}

/* Returns the rows of the slot. Only a single lane's last batch is smaller than the others; with several
 * lanes, the rows that no lane has are empty. A batch to which no lane gives a row is none. */
static uint32_t slot_rows(const struct producer *producer)
{
	if (producer->fetch->part.lanes == 1)
		return producer->batch.global_rows;
	return deal_rows_given(producer) > 0 ? producer->batch.rows : 0;
}

/* Every row is handed out, or no stream has a record for it. The segment's last batch ends with its last row;
 * a last batch that is not full is left to end_segment(), which may drop it. */
static enum step finish_batch(struct producer *producer)
{
	struct batch *batch = &producer->batch;
	enum step step;

	if (!producer->open) {
		producer->pass_over -= batch->global_rows;
		producer->filling = false;
		return STEP_DONE;
	}
	step = end_lanes(producer);
	if (step != STEP_DONE)
		return step;
	if (segment_is_over(producer))
		batch->global_rows = deal_rows_given(producer);
	step = fill_empty(producer, slot_rows(producer));
	if (step != STEP_DONE)
		return step;
	producer->open->rows = slot_rows(producer);
	producer->filling = false;
	if (batch->global_rows == producer->fetch->settings->batch_rows)
		slot_batch(producer);
	return STEP_DONE;
}

static uint64_t rows_given(const struct batch *batch, bool *ret_full, uint32_t streams)
{
	uint64_t given = 0;

	*ret_full = true;
	for (uint32_t i = 0; i < streams; i++) {
		given += batch->share[i].given;
		*ret_full &= batch->share[i].given >= batch->share[i].limit;
	}
	return given;
}

static enum step fill_batch(struct producer *producer)
{
	uint32_t streams = producer->fetch->streams->count;
	bool full;
	uint64_t before = rows_given(&producer->batch, &full, streams);
	enum step step =
		producer->cursor.split == SPLIT_TRAIN ? fill_training(producer) : fill_evaluation(producer);
	uint64_t after = rows_given(&producer->batch, &full, streams);

	if (producer->closed || step == STEP_BROKEN)
		return step;
	if (full)
		return finish_batch(producer);
	return after > before ? STEP_DONE : step;
}

/* ---- One step ---- */

enum step produce(struct producer *producer)
{
	struct error err;

	if (producer->closed)
		return STEP_WAIT_RING;
	if (producer->cursor.ended)
		return end_run(producer);
	if (streams_load(producer->fetch, &producer->cursor, &err) < 0)
		return slot_fail(producer, &err, NULL, 0);
	if (producer->filling)
		return fill_batch(producer);
	/* A slot that is open but not full was the last one of its segment. */
	if (producer->open || segment_is_over(producer))
		return end_segment(producer);
	return begin_batch(producer);
}

void produce_from(struct producer *producer, const struct cursor *cursor)
{
	const struct plan_settings *settings = producer->fetch->settings;

	producer->cursor = *cursor;
	producer->cursor.places = settings->sources * settings->lanes;
	for (uint32_t i = 0; i < producer->fetch->streams->count; i++)
		producer->fetch->streams->stream[i].gave_rows = true;
	segment_begin(producer);
}

void produce_forget(struct producer *producer)
{
	producer->open = NULL;
	producer->filling = false;
	producer->head = producer->tail = 0;
}

int produce_begin(struct producer *producer, struct fetch *fetch, struct error *err)
{
	uint64_t slots = fetch->run.config.ring.slots;
	bool several = fetch->settings->sources > 1;

	*producer = (struct producer){ .fetch = fetch, .closed = true };
	producer->stall.last = batch_has_pictures(&fetch->schema) ? STALL_DECODE : STALL_GATHER;
	producer->pending = calloc(slots, sizeof(*producer->pending));
	if (several)
		producer->dealt =
			calloc((slots + 1) * fetch->run.config.run.batch_rows, 2 * sizeof(*producer->dealt));
	if (!producer->pending || (several && !producer->dealt))
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " slots", slots);
	return 0;
}

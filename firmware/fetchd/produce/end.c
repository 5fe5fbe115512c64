/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/end.h"

#include "data/batch.h"
#include "fetchd/produce/deal.h"
#include "fetchd/produce/segment.h"
#include "fetchd/produce/slot.h"

#include <inttypes.h>

/* Refuses a validation without rows that a callback monitors: the figure of 0 rows would be the best of all.
 */
static enum step refuse_unvalidated(struct producer *producer, const char *monitor)
{
	const struct plan *plan = producer->fetch->plan;
	const char *filter = plan_settings_of(plan)->filter;
	struct error err;

	(void)error_set(&err, -EBADMSG,
			"%s: found a metric of the validation, whose %" PRIu64
			" shards hold no rows%s%s%s, allowed: \"loss\" or \"accuracy\", or shards with rows",
			monitor, plan_shards(plan, SPLIT_VALIDATION), *filter ? " of order.filter \"" : "",
			filter, *filter ? "\"" : "");
	return slot_fail(producer, &err, NULL, 0);
}

/* Returns the rows of a batch that is left out: rows of a single lane, or rows that end_lanes() has emptied.
 */
static uint32_t rows_left_out(const struct pending *pending)
{
	return pending ? pending->rows + pending->empty : 0;
}

/* Refuses a training segment without a batch: the run would end with its initial weights. */
static enum step refuse_untrained(struct producer *producer)
{
	const struct plan *plan = producer->fetch->plan;
	const struct plan_settings *settings = producer->fetch->settings;
	char besides[FILTER_BYTES + 64] = "";
	struct error err;

	if (settings->skip_rows || *settings->filter)
		(void)snprintf(besides, sizeof(besides), ", order.skip_rows %" PRIu64 ", order.filter \"%s\"",
			       settings->skip_rows, settings->filter);
	(void)error_set(&err, -EBADMSG,
			"the %" PRIu64
			" train shards hold %u rows, too few for a batch: run.batch_rows is %" PRIu64
			", order.remainder \"%s\"%s",
			plan_shards(plan, SPLIT_TRAIN), rows_left_out(producer->open), settings->batch_rows,
			settings->remainder == REMAINDER_DROP ? "drop" : "keep", besides);
	return slot_fail(producer, &err, NULL, 0);
}

/* Whether the segment is known to be empty. With several ranks it never is: another rank may have rows where
 * this one has none. */
static bool is_empty(const struct producer *producer)
{
	return producer->cursor.batch == 0 && producer->fetch->world == 1;
}

/* Returns the number of rows that a lane of this rank (0 ..) gives to the batch. */
static uint32_t rows_given(const struct producer *producer, uint32_t lane)
{
	const struct streams *streams = producer->fetch->streams;
	uint32_t rows = 0;

	for (uint32_t i = lane; i < streams->count; i += streams->lanes)
		rows += producer->batch.share[i].limit;
	return rows;
}

/* Empties the rows that a stream has given to the open slot. */
static void take_back(struct producer *producer, struct share *share)
{
	const struct fetch *fetch = producer->fetch;
	const struct batch_slot slot = batch_slot(&fetch->schema, fetch->ring, producer->open->slot);

	for (uint32_t i = 0; i < share->limit; i++) {
		uint32_t row = share_row(share, i);

		producer->open->empty += !slot.empty[row];
		batch_empty_row(&slot, row);
	}
	share->limit = 0;
}

enum step end_lanes(struct producer *producer)
{
	const struct streams *streams = producer->fetch->streams;
	const struct plan_settings *settings = producer->fetch->settings;

	if (settings->remainder == REMAINDER_KEEP || settings->lanes == 1 ||
	    producer->cursor.split != SPLIT_TRAIN)
		return STEP_DONE;
	for (uint32_t lane = 0; lane < streams->lanes; lane++) {
		uint32_t rows = rows_given(producer, lane);

		if (rows == 0 || rows == producer->fetch->part.lane_rows)
			continue;
		if (producer->open->spans > 0)
			return STEP_WAIT_WORK;
		for (uint32_t i = lane; i < streams->count; i += streams->lanes)
			take_back(producer, &producer->batch.share[i]);
	}
	return STEP_DONE;
}

enum step end_segment(struct producer *producer)
{
	const struct plan_settings *settings = producer->fetch->settings;
	struct pending *pending = producer->open;
	const char *monitor = config_validation_monitor(&producer->fetch->run.config);
	bool train = producer->cursor.split == SPLIT_TRAIN;
	enum step step;

	if (pending && pending->rows > 0 &&
	    (settings->remainder == REMAINDER_KEEP || !train || settings->lanes > 1)) {
		slot_batch(producer);
		return STEP_DONE;
	}
	if (train && is_empty(producer))
		return refuse_untrained(producer);
	if (producer->cursor.split == SPLIT_VALIDATION && monitor && is_empty(producer))
		return refuse_unvalidated(producer, monitor);
	step = pending ? STEP_DONE : slot_claim(producer, RING_END_SEGMENT, &pending);
	if (step != STEP_DONE)
		return step;
	pending->kind = RING_END_SEGMENT;
	pending->rows = 0;
	producer->open = NULL;
	producer->cursor = segment_next(producer);
	segment_begin(producer);
	slot_seal(producer, pending);
	return STEP_DONE;
}

enum step end_run(struct producer *producer)
{
	struct pending *pending;
	enum step step = slot_claim(producer, RING_END_RUN, &pending);

	if (step != STEP_DONE)
		return step;
	slot_seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

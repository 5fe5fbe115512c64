/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/fill.h"

#include "fetchd/produce/deal.h"
#include "fetchd/produce/segment.h"
#include "fetchd/produce/slot.h"
#include "fetchd/shard/sources.h"
#include "fetchd/shard/work.h"
#include "fetchd/workers/slot_quarantine.h"

#include <inttypes.h>

static void hand_out(struct producer *producer, struct window *window, const struct share *share,
		     uint64_t offset, uint32_t count)
{
	const struct span span = { .window = window,
				   .pending = producer->open,
				   .offset = offset,
				   .row = share->row ? share->row + share->given : NULL,
				   .first = share->row ? 0 : share_row(share, share->given),
				   .arrived = window ? window->arrived : 0,
				   .count = count };

	work_add_span(producer->fetch->work, &span);
	if (window)
		window->spans++;
	producer->open->spans++;
}

/* Finds the window of this id, once rows can be handed out from `offset` on. A window whose failure is final
 * ends the generation. */
static enum step need_window(struct producer *producer, struct stream *stream, struct window_id id,
			     uint64_t offset, struct window **ret_window)
{
	struct window *window = stream_window(stream, id);
	const struct shard *failure;

	if (!window || (!window->eager && !window_is_whole(window))) {
		stall_lacks(&producer->stall, stream, id);
		return STEP_WAIT_WORK;
	}
	failure = window_has_rows(window, offset) ? NULL : window_final_failure(window);
	if (failure)
		return slot_fail(producer, &failure->err, failure->plan.key, failure->bad_offset);
	*ret_window = window;
	return STEP_DONE;
}

static enum step refuse_offset(struct producer *producer, uint64_t offset, const struct window *window)
{
	struct error err;

	(void)error_set(&err, -ESTALE,
			"the cursor lies at row %" PRIu64 " of a window of %" PRIu64
			": the data has changed since the cursor was made",
			offset, window->records);
	return slot_fail(producer, &err, NULL, 0);
}

/* Hands out as many rows as the share still wants and the window has. Rows that are passed over (no open
 * slot) only move the cursor. At the end of the window the cursor also counts the shards whose rest is lost.
 */
static enum step give_rows(struct producer *producer, struct stream *stream, struct window_id id,
			   struct cursor_place *at, struct share *share)
{
	struct window *window = NULL;
	enum step step = need_window(producer, stream, id, at->offset, &window);
	uint64_t left;
	uint32_t count;

	if (step != STEP_DONE || !window)
		return step;
	if (!window_is_whole(window) && at->offset >= window->records) {
		stall_lacks(&producer->stall, stream, id);
		return STEP_WAIT_WORK;
	}
	stall_has(&producer->stall, window);
	if (at->offset > window->records)
		return refuse_offset(producer, at->offset, window);
	left = window->records - at->offset;
	count = left < share->limit - share->given ? (uint32_t)left : share->limit - share->given;
	if (count > 0 && producer->open && work_is_full(producer->fetch->work))
		return STEP_WAIT_WORK;
	if (producer->open && count > producer->fetch->span_rows)
		count = producer->fetch->span_rows;
	if (count > 0 && producer->open)
		hand_out(producer, window, share, at->offset, count);
	stream->gave_rows |= count > 0;
	share->given += count;
	at->offset += count;
	/* Normalise: the end of a window is the start of the next. */
	if (window_is_complete(window) && at->offset == window->records) {
		at->window++;
		at->offset = 0;
		producer->cursor.skipped += window->lost;
		quarantine_lost(producer->fetch, producer->open, window, &producer->unplaced);
	}
	return STEP_DONE;
}

/* Begins the next pass of a source other than the first. */
static enum step next_pass(struct producer *producer, struct stream *stream, struct cursor_place *at)
{
	struct error err;

	if (!stream->gave_rows) {
		(void)error_set(&err, -EBADMSG, "%s: a whole pass over lane %u of %u gave no record",
				producer->fetch->sources->source[stream->source].url, stream->lane,
				producer->fetch->settings->lanes);
		return slot_fail(producer, &err, NULL, 0);
	}
	stream->gave_rows = false;
	*at = (struct cursor_place){ .pass = at->pass + 1 };
	return STEP_DONE;
}

/* STEP_DONE: the stream has given what it can for its share of a training batch. */
static enum step fill_share(struct producer *producer, uint32_t index)
{
	struct stream *stream = &producer->fetch->streams->stream[index];
	struct share *share = &producer->batch.share[index];
	struct cursor_place *at = &producer->cursor.place[stream->place];
	uint64_t windows = stream->pass_windows[SPLIT_TRAIN];
	enum step step = STEP_DONE;

	while (step == STEP_DONE && !producer->closed && share->given < share->limit) {
		uint64_t pass = stream->source == 0 ? producer->cursor.segment : at->pass;

		if (at->window < windows)
			step = give_rows(producer, stream,
					 (struct window_id){ SPLIT_TRAIN, pass, at->window }, at, share);
		else if (stream->source == 0)
			deal_end(producer, index, share_row(share, share->given));
		else
			step = next_pass(producer, stream, at);
	}
	return step;
}

/* Fills all streams of a lane, the first source before the others: its end is the end of the lane. */
static enum step fill_lane(struct producer *producer, uint32_t lane)
{
	uint32_t lanes = producer->fetch->streams->lanes, streams = producer->fetch->streams->count;
	enum step all = STEP_DONE;

	for (uint32_t i = lane; i < streams && !producer->closed; i += lanes) {
		enum step step = fill_share(producer, i);

		all = step == STEP_DONE ? all : step;
		if (i == lane && step != STEP_DONE)
			break;
	}
	return all;
}

/* STEP_DONE: the lane has given what it can for its rows of an evaluation's batch. */
static enum step fill_evaluated(struct producer *producer, uint32_t lane)
{
	struct share *share = &producer->batch.share[lane];
	enum step step = STEP_DONE;

	while (step == STEP_DONE && !producer->closed && share->given < share->limit) {
		struct stream *stream = segment_evaluated(producer, lane);
		struct cursor_place *at;

		if (!stream) {
			share->limit = share->given;
			break;
		}
		at = &producer->cursor.place[stream->lane];
		step = give_rows(producer, stream,
				 (struct window_id){ (enum split)producer->cursor.split, 0, at->window }, at,
				 share);
	}
	return step;
}

/* Fills the lanes one after the other with `fill_one`, each as far as it can be filled now. */
static enum step fill_lanes(struct producer *producer, enum step (*fill_one)(struct producer *, uint32_t))
{
	enum step all = STEP_DONE;

	for (uint32_t lane = 0; lane < producer->fetch->streams->lanes && !producer->closed; lane++) {
		enum step step = fill_one(producer, lane);

		all = step == STEP_DONE ? all : step;
	}
	return all;
}

enum step fill_training(struct producer *producer)
{
	return fill_lanes(producer, fill_lane);
}

enum step fill_evaluation(struct producer *producer)
{
	return fill_lanes(producer, fill_evaluated);
}

enum step fill_empty(struct producer *producer, uint32_t rows)
{
	for (uint32_t i = 0; i < producer->fetch->streams->count; i++) {
		struct share *share = &producer->batch.share[i];
		uint32_t count = share_below(share, rows);

		if (count <= share->given)
			continue;
		if (work_is_full(producer->fetch->work))
			return STEP_WAIT_WORK;
		hand_out(producer, NULL, share, 0, count - share->given);
		producer->open->empty += count - share->given;
		share->given = count;
	}
	return STEP_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/produce.h"

#include <inttypes.h>
#include <string.h>

/* ---- Slots ---- */

enum step produce_claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending)
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
	quarantine_begin(producer->fetch, pending);
	*ret_pending = pending;
	return STEP_DONE;
}

void produce_seal(struct producer *producer, struct pending *pending)
{
	pending->cursor = producer->cursor;
	pending->sealed = true;
}

enum step produce_error(struct producer *producer, const struct error *err, const char *key, uint64_t offset)
{
	struct pending *pending = producer->open;
	enum step step = pending ? STEP_DONE : produce_claim(producer, RING_ERROR, &pending);

	if (step != STEP_DONE)
		return step;
	producer->open = NULL;
	/* A faulty row already in this slot comes first. */
	if (!pending->err.code) {
		pending->err = *err;
		pending->err_key = key;
		pending->err_offset = offset;
	}
	produce_seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

void produce_batch(struct producer *producer)
{
	struct cursor *cursor = &producer->cursor;

	cursor->batch++;
	cursor->rows += producer->batch.global_rows;
	if (cursor->split == SPLIT_TRAIN)
		cursor->step++;
	produce_seal(producer, producer->open);
	producer->open = NULL;
}

/* ---- Rows ---- */

static void hand_out(struct producer *producer, struct window *window, const struct share *share,
		     uint64_t offset, uint32_t count)
{
	struct fetch *fetch = producer->fetch;

	fetch->span[fetch->spans_head++ % FETCH_SPANS_MAX] =
		(struct span){ .window = window,
			       .pending = producer->open,
			       .offset = offset,
			       .row = share->row ? share->row + share->taken : NULL,
			       .first = share->row ? 0 : share_row(share, share->taken),
			       .stride = share->stride,
			       .arrived = window ? window->arrived : 0,
			       .count = count };
	if (window)
		window->spans++;
	fetch->spans++;
	producer->open->spans++;
	fetch->unsaid++;
}

static bool spans_full(const struct fetch *fetch)
{
	return fetch->spans_head - fetch->spans_tail == FETCH_SPANS_MAX;
}

/* The window for a place, once its records can be taken. */
static enum step need_window(struct producer *producer, struct stream *stream, struct place place,
			     struct window **ret_window)
{
	struct window *window = stream_window(stream, place);
	const struct shard *failure;

	if (!window || (!window->eager && !window_is_whole(window))) {
		stall_lacks(producer, stream, place);
		return STEP_WAIT_WORK;
	}
	failure = window_final_failure(window);
	if (failure)
		return produce_error(producer, &failure->err, failure->plan.key, failure->bad_offset);
	*ret_window = window;
	return STEP_DONE;
}

static enum step refuse_offset(struct producer *producer, uint64_t offset, const struct window *window)
{
	struct error err;

	(void)error_set(&err, -ESTALE,
			"the cursor lies at row %" PRIu64 " of a window of %" PRIu64
			": the data is not what it was",
			offset, window->records);
	return produce_error(producer, &err, NULL, 0);
}

/* As many rows as the share still wants and the window at this place still has. */
static enum step take_rows(struct producer *producer, struct stream *stream, struct place place,
			   struct cursor_place *at, struct share *share)
{
	struct window *window = NULL;
	enum step step = need_window(producer, stream, place, &window);
	uint64_t left;
	uint32_t count;

	if (step != STEP_DONE || !window)
		return step;
	if (!window_is_whole(window) && at->offset >= window->records) {
		stall_lacks(producer, stream, place);
		return STEP_WAIT_WORK;
	}
	stall_has(producer, window);
	if (at->offset > window->records)
		return refuse_offset(producer, at->offset, window);
	left = window->records - at->offset;
	count = left < share->limit - share->taken ? (uint32_t)left : share->limit - share->taken;
	if (count > 0 && producer->open && spans_full(producer->fetch))
		return STEP_WAIT_WORK;
	if (count > 0 && producer->open)
		hand_out(producer, window, share, at->offset, count);
	stream->gave_rows |= count > 0;
	share->taken += count;
	at->offset += count;
	/* One way to write each place: the end of a window is the start of the next. */
	if (window_is_whole(window) && at->offset == window->records) {
		at->window++;
		at->offset = 0;
		producer->cursor.skipped += window->lost;
		quarantine_lost(producer->fetch, producer->open, window);
	}
	return STEP_DONE;
}

/* A source other than the first begins its next pass. */
static enum step next_pass(struct producer *producer, struct stream *stream, struct cursor_place *at)
{
	struct error err;

	if (!stream->gave_rows) {
		(void)error_set(&err, -EBADMSG, "%s: a whole pass over lane %u of %u gave no record",
				store_url(producer->fetch->source[stream->source].store), stream->lane,
				plan_settings_of(producer->fetch->plan)->lanes);
		return produce_error(producer, &err, NULL, 0);
	}
	stream->gave_rows = false;
	*at = (struct cursor_place){ .pass = at->pass + 1 };
	return STEP_DONE;
}

/* STEP_DONE: the stream has done what it could for its share of a training batch. */
static enum step fill_share(struct producer *producer, uint32_t index)
{
	struct stream *stream = &producer->fetch->stream[index];
	struct share *share = &producer->batch.share[index];
	struct cursor_place *at = &producer->cursor.place[stream->place];
	uint64_t windows = plan_windows(producer->fetch->plan, stream->source, stream->lane, SPLIT_TRAIN);
	enum step step = STEP_DONE;

	while (step == STEP_DONE && !producer->closed && share->taken < share->limit) {
		uint64_t pass = stream->source == 0 ? producer->cursor.segment : at->pass;

		if (at->window < windows)
			step = take_rows(producer, stream, (struct place){ SPLIT_TRAIN, pass, at->window },
					 at, share);
		else if (stream->source == 0)
			deal_end(producer, index, share_row(share, share->taken));
		else
			step = next_pass(producer, stream, at);
	}
	return step;
}

/* Of a lane the first source comes first, which says where the lane ends. */
static enum step fill_lane(struct producer *producer, uint32_t lane)
{
	uint32_t lanes = producer->fetch->lanes, streams = producer->fetch->streams;
	enum step all = STEP_DONE;

	for (uint32_t i = lane; i < streams && !producer->closed; i += lanes) {
		enum step step = fill_share(producer, i);

		all = step == STEP_DONE ? all : step;
		if (i == lane && step != STEP_DONE)
			break;
	}
	return all;
}

static enum step fill_training(struct producer *producer)
{
	enum step all = STEP_DONE;

	for (uint32_t lane = 0; lane < producer->fetch->lanes && !producer->closed; lane++) {
		enum step step = fill_lane(producer, lane);

		all = step == STEP_DONE ? all : step;
	}
	return all;
}

static enum step fill_evaluation(struct producer *producer)
{
	struct share *share = &producer->batch.share[0];
	enum step step = STEP_DONE;

	while (step == STEP_DONE && !producer->closed && share->taken < share->limit) {
		struct stream *stream = segment_evaluated(producer);
		struct cursor_place *at;

		if (!stream) {
			share->limit = share->taken;
			break;
		}
		at = &producer->cursor.place[stream->lane];
		step = take_rows(producer, stream,
				 (struct place){ (enum split)producer->cursor.split, 0, at->window }, at,
				 share);
	}
	return step;
}

/* ---- Batches ---- */

static enum step begin_batch(struct producer *producer)
{
	const struct plan_settings *settings = plan_settings_of(producer->fetch->plan);
	uint64_t rows = settings->batch_rows, slot = producer->fetch->run.config.ring.slots;
	bool train = producer->cursor.split == SPLIT_TRAIN;
	enum step step;

	if (producer->pass_over == 0) {
		step = produce_claim(producer, RING_DATA, &producer->open);
		if (step != STEP_DONE)
			return step;
		slot = (uint64_t)(producer->open - producer->pending);
		if (train && settings->take_rows > 0 && settings->take_rows - producer->cursor.rows < rows)
			rows = settings->take_rows - producer->cursor.rows;
	} else if (producer->pass_over < rows) {
		rows = producer->pass_over;
	}
	if (train)
		deal_rows(producer, rows, producer->room + slot * 2 * settings->batch_rows);
	else
		deal_unseen(producer, rows);
	producer->filling = true;
	return STEP_DONE;
}

/* Rows below `rows` that nobody had anything for. */
static enum step hand_out_empty(struct producer *producer, uint32_t rows)
{
	for (uint32_t i = 0; i < producer->fetch->streams; i++) {
		struct share *share = &producer->batch.share[i];
		uint32_t count = share_below(share, rows);

		if (count <= share->taken)
			continue;
		if (spans_full(producer->fetch))
			return STEP_WAIT_WORK;
		hand_out(producer, NULL, share, 0, count - share->taken);
		producer->open->empty += count - share->taken;
		share->taken = count;
	}
	return STEP_DONE;
}

/* Every row is handed out, or there is none for it. The segment's last batch ends with its last row; when it
 * is smaller than the others, segment_end() has the word. */
static enum step finish_batch(struct producer *producer)
{
	struct batch *batch = &producer->batch;
	uint32_t rows = batch->rows;
	enum step step;

	if (!producer->open) {
		producer->pass_over -= batch->global_rows;
		producer->filling = false;
		return STEP_DONE;
	}
	if (segment_is_over(producer))
		rows = deal_rows_taken(producer);
	step = hand_out_empty(producer, rows);
	if (step != STEP_DONE)
		return step;
	producer->open->rows = rows;
	if (rows < batch->rows)
		batch->global_rows = rows ? (uint32_t)deal_global(producer, rows - 1) : 0;
	producer->filling = false;
	if (batch->global_rows == plan_settings_of(producer->fetch->plan)->batch_rows)
		produce_batch(producer);
	return STEP_DONE;
}

static uint64_t rows_taken(const struct batch *batch, bool *ret_full, uint32_t streams)
{
	uint64_t taken = 0;

	*ret_full = true;
	for (uint32_t i = 0; i < streams; i++) {
		taken += batch->share[i].taken;
		*ret_full &= batch->share[i].taken >= batch->share[i].limit;
	}
	return taken;
}

static enum step fill_batch(struct producer *producer)
{
	uint32_t streams = producer->fetch->streams;
	bool full;
	uint64_t before = rows_taken(&producer->batch, &full, streams);
	enum step step =
		producer->cursor.split == SPLIT_TRAIN ? fill_training(producer) : fill_evaluation(producer);
	uint64_t after = rows_taken(&producer->batch, &full, streams);

	if (producer->closed || step == STEP_BROKEN)
		return step;
	if (full)
		return finish_batch(producer);
	return after > before ? STEP_DONE : step;
}

/* ---- One step ---- */

static enum step end_run(struct producer *producer)
{
	struct pending *pending;
	enum step step = produce_claim(producer, RING_END_RUN, &pending);

	if (step != STEP_DONE)
		return step;
	produce_seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

enum step produce(struct producer *producer)
{
	struct error err;

	if (producer->closed)
		return STEP_WAIT_RING;
	if (producer->cursor.ended)
		return end_run(producer);
	if (streams_load(producer->fetch, &producer->cursor, &err) < 0)
		return produce_error(producer, &err, NULL, 0);
	if (producer->filling)
		return fill_batch(producer);
	/* A slot that is open but not full was the last. */
	if (producer->open || segment_is_over(producer))
		return segment_end(producer);
	return begin_batch(producer);
}

void produce_from(struct producer *producer, const struct cursor *cursor)
{
	const struct plan_settings *settings = plan_settings_of(producer->fetch->plan);

	producer->cursor = *cursor;
	producer->cursor.places = settings->sources * settings->lanes;
	for (uint32_t i = 0; i < producer->fetch->streams; i++)
		producer->fetch->stream[i].gave_rows = true;
	segment_begin(producer);
}

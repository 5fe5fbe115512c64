/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce.h"

#include <inttypes.h>
#include <string.h>

/* ---- Places ---- */

static struct place place_of(const struct cursor *cursor)
{
	return (struct place){ cursor->split, cursor->segment, cursor->place[0].window };
}

static bool same_place(struct place a, struct place b)
{
	return a.split == b.split && a.segment == b.segment && a.window == b.window;
}

/* train k, validation k, train k + 1 ... test 0; splits without shards are left out. False at the end of the
 * run. */
static bool next_segment(const struct plan *plan, enum split *split, uint64_t *segment)
{
	if (*split == SPLIT_TRAIN && plan_shards(plan, SPLIT_VALIDATION) > 0) {
		*split = SPLIT_VALIDATION;
		return true;
	}
	if (*split != SPLIT_TEST && *segment + 1 < plan_settings_of(plan)->epochs) {
		*split = SPLIT_TRAIN;
		(*segment)++;
		return true;
	}
	if (*split != SPLIT_TEST && plan_shards(plan, SPLIT_TEST) > 0) {
		*split = SPLIT_TEST;
		*segment = 0;
		return true;
	}
	return false;
}

static bool next_place(const struct plan *plan, struct place *place)
{
	if (place->window + 1 < window_count(plan, place->split)) {
		place->window++;
		return true;
	}
	place->window = 0;
	return next_segment(plan, &place->split, &place->segment);
}

int cursor_check(const struct plan *plan, const struct cursor *cursor, struct error *err)
{
	uint64_t segments = cursor->split == SPLIT_TEST ? 1 : plan_settings_of(plan)->epochs;

	if (cursor->version == CURSOR_VERSION && cursor->split < SPLIT_MAX && cursor->places <= 1 &&
	    (cursor->ended ||
	     (cursor->segment < segments && plan_shards(plan, (enum split)cursor->split) > 0 &&
	      cursor->place[0].window <= window_count(plan, (enum split)cursor->split))))
		return 0;
	return error_set(err, -EBADMSG,
			 "the trainer asks for cursor version %u, split %u, segment %" PRIu64
			 ", window %" PRIu64 " of %u places, which is no place of this plan",
			 cursor->version, cursor->split, cursor->segment, cursor->place[0].window,
			 cursor->places);
}

/* ---- Slots ---- */

static enum step claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending)
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
	*ret_pending = pending;
	return STEP_DONE;
}

static void seal(struct producer *producer, struct pending *pending)
{
	pending->cursor = producer->cursor;
	pending->sealed = true;
}

enum step produce_error(struct producer *producer, const struct error *err, const char *key, uint64_t offset)
{
	struct pending *pending = producer->open;
	enum step step = pending ? STEP_DONE : claim(producer, RING_ERROR, &pending);

	if (step != STEP_DONE)
		return step;
	producer->open = NULL;
	/* A faulty row already in this slot comes first. */
	if (!pending->err.code) {
		pending->err = *err;
		pending->err_key = key;
		pending->err_offset = offset;
	}
	seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

/* ---- Windows ---- */

static struct window *spare(struct producer *producer)
{
	return &producer->window[1 - producer->current];
}

/* Load the window behind the current one, across segments, as soon as there is room. */
static int load_ahead(struct producer *producer, struct error *err)
{
	struct place place = place_of(&producer->cursor);
	struct window *window = spare(producer);

	if (!next_place(producer->fetch->plan, &place) || window->state == WINDOW_LOADING ||
	    window->spans > 0 || (window->state == WINDOW_READY && same_place(window->place, place)))
		return 0;
	return window_load(producer->fetch, window, place, err);
}

/* Make the cursor's window the current one, loading it when neither holds it. */
static enum step turn_to(struct producer *producer, struct error *err)
{
	struct window *window = &producer->window[producer->current], *other = spare(producer);
	struct place place = place_of(&producer->cursor);

	if (window->state != WINDOW_IDLE && same_place(window->place, place))
		return STEP_DONE;
	if (other->state != WINDOW_IDLE && same_place(other->place, place)) {
		producer->current = 1 - producer->current;
		return STEP_DONE;
	}
	if (window->state == WINDOW_LOADING || window->spans > 0)
		return STEP_WAIT_WORK;
	return window_load(producer->fetch, window, place, err) < 0 ? produce_error(producer, err, NULL, 0)
								    : STEP_DONE;
}

/* The current window, loaded for the cursor's place. Anything but STEP_DONE with a window: come again. */
static enum step need_window(struct producer *producer, struct window **ret_window)
{
	const struct shard *failure;
	struct window *window;
	struct error err = { 0 };
	enum step step = turn_to(producer, &err);

	if (step != STEP_DONE || producer->closed)
		return step;
	if (load_ahead(producer, &err) < 0)
		return produce_error(producer, &err, NULL, 0);
	window = &producer->window[producer->current];
	if (window->state == WINDOW_LOADING)
		return STEP_WAIT_WORK;
	failure = window_failure(window);
	if (failure)
		return produce_error(producer, &failure->err, failure->plan.key, failure->bad_offset);
	*ret_window = window;
	return STEP_DONE;
}

/* ---- Rows ---- */

static void hand_out(struct producer *producer, struct window *window, uint32_t count)
{
	struct fetch *fetch = producer->fetch;

	fetch->span[fetch->spans_head++ % FETCH_SPANS_MAX] =
		(struct span){ .window = window,
			       .pending = producer->open,
			       .offset = producer->cursor.place[0].offset,
			       .row = producer->open->rows,
			       .count = count };
	window->spans++;
	producer->open->spans++;
	producer->open->rows += count;
	(void)pthread_cond_signal(&fetch->work);
}

static void batch_full(struct producer *producer)
{
	struct cursor *cursor = &producer->cursor;

	cursor->batch++;
	cursor->rows += producer->open->rows;
	if (cursor->split == SPLIT_TRAIN)
		cursor->step++;
	seal(producer, producer->open);
	producer->open = NULL;
}

/* As many rows as fit the open slot and the window still has. */
static enum step hand_out_rows(struct producer *producer, struct window *window)
{
	struct cursor_place *place = &producer->cursor.place[0];
	uint64_t batch_rows = plan_settings_of(producer->fetch->plan)->batch_rows;
	uint64_t left = window->records - place->offset, room;

	if (!producer->open) {
		enum step step = claim(producer, RING_DATA, &producer->open);

		if (step != STEP_DONE)
			return step;
	}
	if (producer->fetch->spans_head - producer->fetch->spans_tail == FETCH_SPANS_MAX)
		return STEP_WAIT_WORK;
	room = batch_rows - producer->open->rows;
	room = room < left ? room : left;
	hand_out(producer, window, (uint32_t)room);
	place->offset += room;
	return STEP_DONE;
}

/* Rows of the current window into the open slot. */
static enum step take_rows(struct producer *producer)
{
	struct cursor_place *place = &producer->cursor.place[0];
	struct window *window = NULL;
	enum step step = need_window(producer, &window);
	struct error err = { 0 };

	if (step != STEP_DONE || !window)
		return step;
	if (place->offset > window->records) {
		(void)error_set(&err, -ESTALE,
				"the cursor lies at row %" PRIu64 " of a window of %" PRIu64
				": the data is not what it was",
				place->offset, window->records);
		return produce_error(producer, &err, NULL, 0);
	}
	if (place->offset < window->records) {
		step = hand_out_rows(producer, window);
		if (step != STEP_DONE)
			return step;
	}
	/* One way to write each place: the end of a window is the start of the next. */
	if (place->offset == window->records) {
		place->window++;
		place->offset = 0;
		producer->cursor.skipped += window->lost;
	}
	if (producer->open && producer->open->rows == plan_settings_of(producer->fetch->plan)->batch_rows)
		batch_full(producer);
	return STEP_DONE;
}

/* ---- Segments ---- */

static enum step end_run(struct producer *producer)
{
	struct pending *pending;
	enum step step = claim(producer, RING_END_RUN, &pending);

	if (step != STEP_DONE)
		return step;
	seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

/* The run would end with its initial weights. */
static enum step refuse_empty(struct producer *producer)
{
	const struct plan *plan = producer->fetch->plan;
	const struct plan_settings *settings = plan_settings_of(plan);
	struct error err;

	(void)error_set(&err, -EBADMSG,
			"the %" PRIu64
			" train shards hold %u rows, too few for a batch: run.batch_rows is %" PRIu64
			", order.remainder \"%s\"",
			plan_shards(plan, SPLIT_TRAIN), producer->open ? producer->open->rows : 0,
			settings->batch_rows, settings->remainder == REMAINDER_DROP ? "drop" : "keep");
	return produce_error(producer, &err, NULL, 0);
}

/* All windows of the segment are taken: the last, smaller batch (which only training may drop), then
 * END_SEGMENT with the next segment's first place. */
static enum step end_segment(struct producer *producer)
{
	const struct plan *plan = producer->fetch->plan;
	struct cursor next = { .version = CURSOR_VERSION, .places = 1 };
	struct pending *pending = producer->open;
	enum split split = producer->cursor.split;
	enum step step;

	if (pending && (plan_settings_of(plan)->remainder == REMAINDER_KEEP || split != SPLIT_TRAIN)) {
		batch_full(producer);
		return STEP_DONE;
	}
	if (split == SPLIT_TRAIN && producer->cursor.batch == 0)
		return refuse_empty(producer);
	step = pending ? STEP_DONE : claim(producer, RING_END_SEGMENT, &pending);
	if (step != STEP_DONE)
		return step;
	pending->kind = RING_END_SEGMENT;
	pending->rows = 0;
	producer->open = NULL;
	next.segment = producer->cursor.segment;
	next.ended = !next_segment(plan, &split, &next.segment);
	next.split = split;
	next.step = producer->cursor.step;
	next.skipped = producer->cursor.skipped;
	next.place[0].pass = split == SPLIT_TRAIN ? next.segment : 0;
	producer->cursor = next;
	seal(producer, pending);
	return STEP_DONE;
}

enum step produce(struct producer *producer)
{
	const struct cursor *cursor = &producer->cursor;

	if (producer->closed)
		return STEP_WAIT_RING;
	if (cursor->ended)
		return end_run(producer);
	if (cursor->place[0].window >= window_count(producer->fetch->plan, (enum split)cursor->split))
		return end_segment(producer);
	return take_rows(producer);
}

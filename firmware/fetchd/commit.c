/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "drivers/notify/notify.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define WAIT_MS 50

/* What the main thread alone knows: where production stands, and the slots between claim and commit. */
struct producer {
	struct fetch *fetch;
	uint64_t generation;
	bool closed;          /* the generation ended: END_RUN or ERROR was claimed */
	struct cursor cursor; /* behind everything claimed so far, the open slot's rows not counted */
	struct window window[2];
	unsigned current;     /* the window that cursor.place[0] is in, when it is loaded for that place */
	struct pending *open; /* the slot being filled with rows */
	struct pending *pending;
	uint64_t head, tail; /* pending[tail .. head) modulo slots, oldest first */
	uint64_t skipped;    /* published in this generation; cursor.skipped holds what came before it */
};

enum step { STEP_DONE, STEP_WAIT_RING, STEP_WAIT_WORK };

static const struct config *config_of(const struct producer *producer)
{
	return &producer->fetch->run.config;
}

/* ---- Places
 * ------------------------------------------------------------------------------------------------------------------
 */

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
static bool next_segment(const struct fetch *fetch, enum split *split, uint64_t *segment)
{
	if (*split == SPLIT_TRAIN && plan_shards(fetch->plan, SPLIT_VALIDATION) > 0) {
		*split = SPLIT_VALIDATION;
		return true;
	}
	if (*split != SPLIT_TEST && *segment + 1 < plan_settings_of(fetch->plan)->epochs) {
		*split = SPLIT_TRAIN;
		(*segment)++;
		return true;
	}
	if (*split != SPLIT_TEST && plan_shards(fetch->plan, SPLIT_TEST) > 0) {
		*split = SPLIT_TEST;
		*segment = 0;
		return true;
	}
	return false;
}

static bool next_place(const struct fetch *fetch, struct place *place)
{
	if (place->window + 1 < window_count(fetch, place->split)) {
		place->window++;
		return true;
	}
	place->window = 0;
	return next_segment(fetch, &place->split, &place->segment);
}

/* ---- Slots
 * --------------------------------------------------------------------------------------------------------------------
 */

static int claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending)
{
	struct pending *pending = &producer->pending[producer->head % config_of(producer)->ring.slots];
	struct ring_slot *slot;
	int r = ring_claim(producer->fetch->ring, &slot);

	if (r < 0)
		return r;
	memset(pending, 0, sizeof(*pending));
	pending->slot = slot;
	pending->kind = kind;
	pending->split = producer->cursor.split;
	pending->segment = producer->cursor.segment;
	pending->batch = producer->cursor.batch;
	pending->first_row = producer->cursor.rows;
	producer->head++;
	*ret_pending = pending;
	return 0;
}

static void seal(struct producer *producer, struct pending *pending)
{
	pending->cursor = producer->cursor;
	pending->sealed = true;
}

static void fill_error(struct pending *pending)
{
	struct ring_error *record = ring_error_data(pending->slot);

	memset(record, 0, sizeof(*record));
	(void)snprintf(record->text, sizeof(record->text), "%.*s", (int)sizeof(record->text) - 1,
		       pending->err.text);
	(void)snprintf(record->key, sizeof(record->key), "%s", pending->err_key ? pending->err_key : "");
	record->offset = pending->err_offset;
	pending->slot->error_code = pending->err.code;
	pending->kind = RING_ERROR;
	pending->rows = pending->skipped = 0;
}

static void publish(struct producer *producer, struct pending *pending)
{
	struct ring_slot *slot = pending->slot;

	producer->skipped += pending->skipped;
	if (!pending->err.code && producer->skipped > config_of(producer)->fetch.skip_records_max)
		(void)error_set(&pending->err, -EBADMSG,
				"%" PRIu64 " records skipped, fetch.skip_records_max is %" PRIu64,
				producer->skipped, config_of(producer)->fetch.skip_records_max);
	pending->cursor.skipped += producer->skipped;
	slot->cursor = pending->cursor;
	if (pending->err.code)
		fill_error(pending);
	slot->kind = pending->kind;
	slot->split = pending->split;
	slot->segment = pending->segment;
	slot->batch = pending->batch;
	slot->first_row = pending->first_row;
	slot->rows = pending->rows;
	slot->valid_rows = pending->rows - pending->skipped;
	if (pending->kind == RING_END_SEGMENT) {
		slot->total_batches = pending->batch;
		slot->total_rows = pending->first_row;
		slot->total_skipped = pending->cursor.skipped;
	}
	for (uint32_t i = 0; i < ring_geometry_of(producer->fetch->ring)->columns; i++)
		slot->column[i].bytes = (uint64_t)pending->rows *
					ring_geometry_of(producer->fetch->ring)->column[i].row_bytes;
	ring_commit(producer->fetch->ring);
	if (pending->kind == RING_ERROR) {
		log_err("%s", pending->err.text);
		ring_unclaim(producer->fetch->ring);
		producer->tail = producer->head - 1;
		producer->closed = true;
	}
}

/* Everything at the front that is whole. The lock is held. */
static bool publish_ready(struct producer *producer)
{
	bool any = false;

	while (producer->tail < producer->head) {
		struct pending *pending =
			&producer->pending[producer->tail % config_of(producer)->ring.slots];

		if (!pending->sealed || pending->spans > 0)
			break;
		publish(producer, pending);
		producer->tail++;
		any = true;
	}
	return any;
}

/* ---- Rows
 * ----------------------------------------------------------------------------------------------------------------------
 */

static enum step fail(struct producer *producer, int code, const char *text, const char *key, uint64_t offset)
{
	struct pending *pending = producer->open;

	if (!pending && claim(producer, RING_ERROR, &pending) < 0)
		return STEP_WAIT_RING;
	producer->open = NULL;
	(void)error_set(&pending->err, code, "%s", text);
	pending->err_row = 0;
	pending->err_key = key;
	pending->err_offset = offset;
	seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

static struct window *spare(struct producer *producer)
{
	return &producer->window[1 - producer->current];
}

/* Load the window behind the current one, across segments, as soon as there is room. */
static int load_ahead(struct producer *producer, struct error *err)
{
	struct place place = place_of(&producer->cursor);
	struct window *window = spare(producer);

	if (!next_place(producer->fetch, &place) || window->state == WINDOW_LOADING || window->spans > 0 ||
	    (window->state == WINDOW_READY && same_place(window->place, place)))
		return 0;
	return window_load(producer->fetch, window, place, err);
}

/* The current window, loaded for the cursor's place: STEP_DONE, or what to wait for. */
static enum step need_window(struct producer *producer, struct window **ret_window)
{
	struct place place = place_of(&producer->cursor);
	struct window *window = &producer->window[producer->current];
	const struct shard *failure;
	struct error err = { 0 };

	if (!same_place(window->place, place) || window->state == WINDOW_IDLE) {
		struct window *other = spare(producer);

		if (other->state != WINDOW_IDLE && same_place(other->place, place)) {
			producer->current = 1 - producer->current;
			window = other;
		} else if (window->state == WINDOW_LOADING || window->spans > 0) {
			return STEP_WAIT_WORK;
		} else if (window_load(producer->fetch, window, place, &err) < 0) {
			return fail(producer, err.code, err.text, NULL, 0);
		}
	}
	if (load_ahead(producer, &err) < 0)
		return fail(producer, err.code, err.text, NULL, 0);
	if (window->state == WINDOW_LOADING)
		return STEP_WAIT_WORK;
	failure = window_failure(window);
	if (failure)
		return fail(producer, failure->err.code, failure->err.text, failure->plan.key,
			    failure->bad_offset);
	*ret_window = window;
	return STEP_DONE;
}

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

/* Rows of the current window into the open slot. */
static enum step take_rows(struct producer *producer)
{
	struct cursor_place *place = &producer->cursor.place[0];
	uint64_t batch_rows = plan_settings_of(producer->fetch->plan)->batch_rows, left, room;
	struct window *window = NULL;
	enum step step = need_window(producer, &window);

	if (step != STEP_DONE || !window)
		return step;
	if (place->offset > window->records)
		return fail(producer, -ESTALE,
			    "the cursor lies behind the window's last record: the data is not the plan's",
			    NULL, 0);
	if (!producer->open && place->offset < window->records &&
	    claim(producer, RING_DATA, &producer->open) < 0)
		return STEP_WAIT_RING;
	if (producer->fetch->spans_head - producer->fetch->spans_tail == FETCH_SPANS_MAX)
		return STEP_WAIT_WORK;
	left = window->records - place->offset;
	if (left > 0) {
		room = batch_rows - producer->open->rows;
		room = room < left ? room : left;
		hand_out(producer, window, (uint32_t)room);
		place->offset += room;
	}
	/* One way to write each place: the end of a window is the start of the next. */
	if (place->offset == window->records) {
		place->window++;
		place->offset = 0;
	}
	if (producer->open && producer->open->rows == batch_rows)
		batch_full(producer);
	return STEP_DONE;
}

static enum step end_run(struct producer *producer)
{
	struct pending *pending;

	if (claim(producer, RING_END_RUN, &pending) < 0)
		return STEP_WAIT_RING;
	seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}

/* All windows of the segment are taken: the last, smaller batch, then END_SEGMENT with the next segment's
 * first place. */
static enum step end_segment(struct producer *producer)
{
	struct cursor *cursor = &producer->cursor;
	enum split split = cursor->split;
	struct pending *pending = NULL;
	uint64_t step = cursor->step;

	if (producer->open && plan_settings_of(producer->fetch->plan)->remainder == REMAINDER_KEEP) {
		batch_full(producer);
		return STEP_DONE;
	}
	if (producer->open) {
		pending = producer->open;
		pending->kind = RING_END_SEGMENT;
		pending->rows = 0;
		producer->open = NULL;
	} else if (claim(producer, RING_END_SEGMENT, &pending) < 0) {
		return STEP_WAIT_RING;
	}
	{
		uint64_t segment = cursor->segment;
		bool more = next_segment(producer->fetch, &split, &segment);

		*cursor = (struct cursor){ .version = CURSOR_VERSION,
					   .split = split,
					   .segment = segment,
					   .step = step,
					   .skipped = cursor->skipped,
					   .places = 1,
					   .ended = !more };
		cursor->place[0].pass = split == SPLIT_TRAIN ? segment : 0;
	}
	seal(producer, pending);
	return STEP_DONE;
}

static enum step produce(struct producer *producer)
{
	const struct cursor *cursor = &producer->cursor;

	if (producer->closed)
		return STEP_WAIT_RING;
	if (cursor->ended)
		return end_run(producer);
	if (cursor->place[0].window >= window_count(producer->fetch, cursor->split))
		return end_segment(producer);
	return take_rows(producer);
}

/* ---- Generations
 * ---------------------------------------------------------------------------------------------------------------
 */

static bool busy(const struct producer *producer)
{
	for (int i = 0; i < 2; i++)
		if (producer->window[i].state == WINDOW_LOADING || producer->window[i].spans > 0)
			return true;
	return false;
}

static void wait_progress(struct fetch *fetch)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	(void)pthread_cond_timedwait(&fetch->progress, &fetch->lock, &until);
}

/* Threads quiet, nothing claimed, both windows free. The lock is held. */
static void quiesce(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;

	fetch->discard = true;
	store_wake(fetch->store);
	while (busy(producer))
		wait_progress(fetch);
	fetch->discard = false;
	producer->window[0].state = producer->window[1].state = WINDOW_IDLE;
	producer->open = NULL;
	producer->head = producer->tail = 0;
}

static int check_cursor(const struct fetch *fetch, const struct cursor *cursor, struct error *err)
{
	if (cursor->version == CURSOR_VERSION && cursor->split < SPLIT_MAX && cursor->places <= 1 &&
	    cursor->segment < plan_settings_of(fetch->plan)->epochs)
		return 0;
	return error_set(err, -EBADMSG,
			 "the trainer asks for cursor version %u, split %u, segment %" PRIu64 ", %u places",
			 cursor->version, cursor->split, cursor->segment, cursor->places);
}

/* Follow the reader's newest wish. The lock is held. */
static int follow(struct producer *producer, struct error *err)
{
	struct cursor from;
	bool closed;
	uint64_t generation = ring_request(producer->fetch->ring, &from, &closed);

	if (generation == producer->generation)
		return 0;
	if (check_cursor(producer->fetch, &from, err) < 0)
		return err->code;
	quiesce(producer);
	ring_begin(producer->fetch->ring, generation);
	producer->generation = generation;
	producer->closed = closed;
	producer->cursor = from;
	producer->cursor.places = 1;
	producer->skipped = 0;
	log_info("generation %" PRIu64 ": from split %u, segment %" PRIu64 ", batch %" PRIu64, generation,
		 from.split, from.segment, from.batch);
	notify_status("filling the ring from segment %" PRIu64 ", batch %" PRIu64, from.segment, from.batch);
	return 0;
}

static bool run_is_final(void)
{
	enum run_state state;
	struct error err;

	return run_state_get(&state, &err) == 0 && run_state_is_final(state);
}

int fetch_run(struct fetch *fetch, struct error *err)
{
	struct producer producer = { .fetch = fetch, .closed = true };
	int r;

	producer.pending = calloc(fetch->run.config.ring.slots, sizeof(*producer.pending));
	if (!producer.pending)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " slots",
				 fetch->run.config.ring.slots);
	(void)pthread_mutex_lock(&fetch->lock);
	for (;;) {
		enum step step;
		bool published;

		r = follow(&producer, err);
		if (r < 0)
			break;
		step = produce(&producer);
		published = publish_ready(&producer);
		if (step == STEP_DONE || published)
			continue;
		if (step == STEP_WAIT_WORK || producer.tail < producer.head) {
			wait_progress(fetch);
			continue;
		}
		(void)pthread_mutex_unlock(&fetch->lock);
		if (ring_writer_wait(fetch->ring, 1000) == -ETIMEDOUT && run_is_final())
			return 0;
		(void)pthread_mutex_lock(&fetch->lock);
	}
	(void)pthread_mutex_unlock(&fetch->lock);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/train.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/spool.h"
#include "data/batch.h"
#include "drivers/notify/notify.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define POLL_MS       50u
#define ROOM_WAIT_MS  1000u
#define SAY_EVERY_US  300000000u
#define RING_WAIT_MS  1000u
#define WAIT_S        300u /* for systemd, from each look on */
#define COLUMN_ABSENT UINT32_MAX

static int stopped(struct error *err)
{
	return atomic_load(&train_stop) ? error_set(err, -ECANCELED, "asked to stop") : 0;
}

/* Says what it waits for, at once (*said_us is 0) and every few minutes. */
static void nap(struct train *train, uint32_t ms, const char *what, uint64_t *said_us)
{
	const enum stage before = stages_enter(train, STAGE_WAITING);
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	const uint64_t now = clock_us();

	if (*said_us == 0 || now - *said_us >= SAY_EVERY_US) {
		log_info("waiting for %s", what);
		publish_phase(train, "waiting", "for %s", what);
		*said_us = now;
	}
	notify_extend(WAIT_S);
	(void)nanosleep(&pause, NULL);
	alive_tick(train->worker);
	(void)stages_enter(train, before);
}

int train_nap(struct train *train, uint32_t ms, struct error *err)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	(void)nanosleep(&pause, NULL);
	alive_tick(train->worker);
	return stopped(err);
}

int train_wait_plan(struct train *train, struct error *err)
{
	uint64_t said_us = 0;

	for (;;) {
		struct run now = { 0 };
		int r = stopped(err);

		if (r == 0)
			r = obey_early(train, err);
		if (r == 0 && !*train->run.plan_sha256)
			r = run_load(&now, err);
		if (r < 0)
			return r;
		if (*now.plan_sha256)
			memcpy(train->run.plan_sha256, now.plan_sha256, sizeof(now.plan_sha256));
		run_done(&now);
		if (*train->run.plan_sha256)
			return 0;
		nap(train, POLL_MS, "fetchd to fix the plan", &said_us);
	}
}

/* ---- The ring ---- */

static uint32_t find_column(const struct train *train, const char *name, uint32_t dtype, uint64_t row_bytes,
			    uint64_t bytes)
{
	const struct ring_geometry *geometry = ring_geometry_of(train->ring);

	for (uint32_t i = 0; i < geometry->columns; i++)
		if (strcmp(geometry->column[i].name, name) == 0 && geometry->column[i].dtype == dtype &&
		    geometry->column[i].row_bytes == row_bytes && geometry->column[i].capacity >= bytes)
			return i;
	return COLUMN_ABSENT;
}

static uint32_t find_input(const struct train *train, const struct model_input *input)
{
	return find_column(train, input->name, input->dtype == CONFIG_INT64 ? RING_INT64 : RING_FLOAT32,
			   input->row_bytes, input->bytes);
}

static bool find_inputs(struct train *train)
{
	struct model_input input[MODEL_INPUTS_MAX];

	train->inputs = model_inputs(train->model, input);
	for (uint32_t i = 0; i < train->inputs; i++) {
		train->input[i] = find_input(train, &input[i]);
		if (train->input[i] == COLUMN_ABSENT)
			return false;
	}
	return true;
}

/* A ring of another run's schema is there until fetchd has made its own. */
static bool is_ours(struct train *train)
{
	const struct config *config = &train->run.config;
	const struct model_input label = model_label(train->model),
				 weight = model_sample_weight(train->model);

	train->label = find_input(train, &label);
	train->weight = weight.name ? find_input(train, &weight) : COLUMN_ABSENT;
	train->empty = find_column(train, BATCH_COLUMN_EMPTY, RING_UINT8, 1, config->run.batch_rows);
	train->left_out =
		find_column(train, BATCH_COLUMN_QUARANTINE, RING_UINT8, 0, sizeof(struct ring_quarantine));
	return find_inputs(train) && train->label != COLUMN_ABSENT && train->empty != COLUMN_ABSENT &&
	       (!weight.name || train->weight != COLUMN_ABSENT) &&
	       (!train->quarantine.plan || train->left_out != COLUMN_ABSENT);
}

static int note_checkpoint(void *context, const char *name, uint64_t bytes)
{
	bool *found = context;

	(void)bytes;
	*found |= spool_checkpoint_step(name) >= 0;
	return 0;
}

void train_ask(struct train *train)
{
	const struct cursor begin = { .version = CURSOR_VERSION };
	char path[PATH_BYTES];
	bool found = false;

	if (spool_list(train->run.id, note_checkpoint, &found, NULL) < 0 || found ||
	    ring_open(path_of(PATH_RING, NULL, path), &train->ring, NULL) < 0)
		return;
	ring_attach(train->ring, &begin);
	train->asked = true;
}

/* Whether train_ask() has asked for just this; said once. */
static bool has_asked(struct train *train, const struct cursor *cursor)
{
	const struct cursor begin = { .version = CURSOR_VERSION };
	const bool asked = train->asked;

	train->asked = false;
	return asked && memcmp(cursor, &begin, sizeof(begin)) == 0 && is_ours(train);
}

/* Open the ring and ask for the batch behind the state's cursor. What cannot be used there, an older
 * firmware's ring or a damaged one, fetchd replaces when it starts. */
int train_attach(struct train *train, struct error *err)
{
	char path[PATH_BYTES];
	struct cursor cursor;
	uint64_t said_us = 0;
	bool told = false;
	int r;

	model_cursor_get(train->model, &cursor);
	if (has_asked(train, &cursor))
		return 0;
	saver_wait(train);
	ring_close(train->ring);
	train->ring = NULL;
	for (;;) {
		r = stopped(err);
		if (r == 0)
			r = obey(train, err);
		if (r < 0)
			return r;
		r = ring_open(path_of(PATH_RING, NULL, path), &train->ring, err);
		if (r == 0 && is_ours(train))
			break;
		if (r < 0 && r != -ENOENT && r != -ESTALE && r != -EUCLEAN)
			return r;
		if (r == -EUCLEAN && !told)
			event_send(&(struct event){ .id = EVENT_RING_DAMAGED, .run_id = train->run.id },
				   "%s; waiting for fetchd to replace it", err->text);
		told = r == -EUCLEAN;
		ring_close(train->ring);
		train->ring = NULL;
		nap(train, POLL_MS, "fetchd to make the ring", &said_us);
	}
	ring_attach(train->ring, &cursor);
	log_debug("ring attached at split %u, segment %" PRIu64 ", batch %" PRIu64, cursor.split,
		  cursor.segment, cursor.batch);
	return 0;
}

/* The peer's memory. */
static enum split split_of(const struct ring_slot *slot)
{
	const uint32_t split = slot->split;

	return split < SPLIT_MAX ? (enum split)split : SPLIT_TEST;
}

/* Give back the slots that the device is done with; all of them, waiting, with `all`. */
static int release_done(struct train *train, bool all, struct error *err)
{
	void *slot;

	for (;;) {
		int r = model_batch_done(train->model, all, &slot, err);

		if (r < 0)
			return r;
		if (!slot)
			break;
		stages_batch_done(train, split_of(slot));
		ring_release(train->ring, slot);
	}
	return 0;
}

/* One that is due, or asked for, before the next batch changes the weights. */
static int take_checkpoint(struct train *train, struct error *err)
{
	int r = train->checkpoint_due ? save_checkpoint(train, false, err) : 0;

	train->checkpoint_due = false;
	return r;
}

int train_next_slot(struct train *train, const struct ring_slot **ret_slot, struct error *err)
{
	for (;;) {
		int r = stopped(err);

		if (r == 0)
			r = obey(train, err);
		if (r < 0)
			return r;
		r = ring_next(train->ring, ret_slot, err);
		if (r == -EAGAIN || r == -EPIPE) {
			int released = release_done(train, true, err);

			if (released < 0 || (released = take_checkpoint(train, err)) < 0)
				return released;
		} else {
			return r;
		}
		if (r == -EAGAIN) {
			const uint64_t start = clock_us();
			const enum stage before = stages_enter(train, STAGE_WAITING);

			(void)ring_reader_wait(train->ring, RING_WAIT_MS);
			(void)stages_enter(train, before);
			publish_waited(train, clock_us() - start);
			alive_tick(train->worker);
		} else if ((r = train_attach(train, err)) < 0) {
			return r;
		}
	}
}

/* ---- Slots ---- */

void train_batch(const struct train *train, const struct ring_slot *slot, struct model_batch *ret_batch)
{
	*ret_batch = (struct model_batch){
		.label = ring_column_data(train->ring, slot, train->label),
		.weight = train->weight == COLUMN_ABSENT ? NULL
							 : ring_column_data(train->ring, slot, train->weight),
		.empty = ring_column_data(train->ring, slot, train->empty),
		.rows = slot->rows,
		.valid_rows = slot->valid_rows,
		.first_row = slot->first_row,
		.ticket = (void *)(uintptr_t)slot, /* comes back to ring_release(), which does not write */
	};
	for (uint32_t i = 0; i < train->inputs; i++)
		ret_batch->input[i] = ring_column_data(train->ring, slot, train->input[i]);
}

/* The header is the peer's memory: read once, before the slot is given back. */
static int take_batch(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const uint64_t segment = slot->segment;
	const enum split split = split_of(slot);
	const struct cursor behind = slot->cursor;
	struct model_batch batch;
	bool warm;
	int r = take_checkpoint(train, err);

	train_batch(train, slot, &batch);
	stages_batch(train, split);
	if (train->warm[split] < WARM_BATCHES)
		alive_lease(train->worker, "building kernels", WARM_LEASE_S);
	if (r == 0 && split == SPLIT_TEST)
		r = epochs_finish(train, err);
	if (r == 0)
		r = split == SPLIT_TRAIN ? model_train(train->model, &batch, err)
					 : model_evaluate(train->model, &batch, err);
	if (r == 0)
		r = quarantine_take(train, slot, err);
	if (r < 0)
		return r;
	model_cursor_set(train->model, &behind);
	train->checkpoint_due = split == SPLIT_TRAIN && save_is_due(train);
	publish_batch(train, split, segment, batch.rows);
	alive_progress();
	/* The first batches are handed over long before the device has compiled what they run. */
	warm = train->warm[split] < WARM_BATCHES && ++train->warm[split] == WARM_BATCHES;
	r = release_done(train, warm, err);
	if (warm)
		alive_lease_end(train->worker);
	if (r == 0)
		r = report_progress(train, split, segment, batch.rows, err);
	return r == 0 && split == SPLIT_TRAIN ? curves_step(train, false, err) : r;
}

/* Said first, then checkpointed: a kill in between says it again, as the event files mark. */
static int end_segment(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const enum split split = split_of(slot);
	const uint64_t segment = slot->segment, batches = slot->total_batches;
	struct cursor behind = slot->cursor;
	bool stop = false;
	int r = quarantine_take(train, slot, err);

	if (r == 0)
		r = release_done(train, true, err);
	ring_release(train->ring, slot);
	alive_lease_end(train->worker); /* of a split with too few batches to be warm */
	if (r < 0 || (r = report_segment(train, split, segment, err)) < 0 ||
	    (r = model_metrics_reset(train->model, err)) < 0)
		return r;
	publish_segment(train, split, batches);
	model_cursor_set(train->model, &behind);
	train->checkpoint_due = false;
	if (split == SPLIT_VALIDATION || (split == SPLIT_TRAIN && behind.split != SPLIT_VALIDATION))
		r = epochs_end(train, segment, &stop, err);
	if (r == 0 && split == SPLIT_TRAIN)
		r = save_checkpoint(train, true, err);
	/* What the ring holds is of epochs that do not come. */
	if (r == 0 && stop)
		r = train_attach(train, err);
	curves_rest(train);
	return r;
}

/* A disk that is full does not cost the trained weights: they wait for room. */
static int end_run(struct train *train, struct error *err)
{
	uint64_t said_us = 0;
	int r;

	if ((r = epochs_finish(train, err)) < 0)
		return r;
	train->report.noted = false; /* with the time up to here */
	for (;;) {
		if ((r = report_write(train, err)) == 0 && (r = save_model(train, err)) == 0)
			r = run_state_set(RUN_FINISHED, err);
		if (r != -ENOSPC && r != -EDQUOT)
			break;
		if (!said_us)
			event_send(&(struct event){ .id = EVENT_DISK_FULL,
						    .run_id = train->run.id,
						    .step = model_step(train->model) },
				   "%s", err->text);
		nap(train, ROOM_WAIT_MS, "room on the disk", &said_us);
		if ((r = stopped(err)) < 0)
			return r;
	}
	if (r == 0)
		event_send(&(struct event){ .id = EVENT_RUN_FINISHED,
					    .run_id = train->run.id,
					    .step = model_step(train->model) },
			   "%s: finished after %" PRIu64 " steps", train->run.id, model_step(train->model));
	return r;
}

/* fetchd's sentence; its record is the peer's memory, so the texts may lack their end. */
int train_refuse(struct train *train, const struct ring_slot *slot, struct error *err)
{
	struct ring_error record = *ring_error_data(train->ring, slot);
	int code = slot->error_code < 0 && slot->error_code >= -4095 ? slot->error_code : -EIO;

	if (quarantine_take(train, slot, err) == 0 && report_write(train, err) < 0)
		log_warning("%s", err->text);
	record.text[sizeof(record.text) - 1] = '\0';
	record.key[sizeof(record.key) - 1] = '\0';
	ring_release(train->ring, slot);
	if (*record.key)
		return error_set(err, code, "fetchd: %s; object %s, byte %" PRIu64, record.text, record.key,
				 record.offset);
	return error_set(err, code, "fetchd: %s", record.text);
}

static int run_slots(struct train *train, struct error *err)
{
	for (;;) {
		const struct ring_slot *slot = NULL;
		enum split split;
		int r = train_next_slot(train, &slot, err);

		if (r < 0)
			return r;
		split = split_of(slot);
		switch (slot->kind) {
		case RING_DATA:
			r = take_batch(train, slot, err);
			break;
		case RING_END_SEGMENT:
			r = end_segment(train, slot, err);
			break;
		case RING_END_RUN:
			ring_release(train->ring, slot);
			return end_run(train, err);
		default:
			return train_refuse(train, slot, err);
		}
		/* Its sentence names a row of the pass, and each split has its own. */
		if (r == -EDOM && split != SPLIT_TRAIN)
			return error_prefix(err, "the %s split", split_name(split));
		if (r < 0)
			return r;
	}
}

int train_run(struct train *train, struct error *err)
{
	struct error save_err;
	int r = train_attach(train, err);

	if (r == 0)
		r = adapt(train, err);
	curves_rest(train);
	if (r == 0)
		r = run_slots(train, err);
	/* Asked to stop between two batches: nothing is lost. In an evaluation the last checkpoint has this
	 * step already, and the segment is evaluated again. */
	if (r == -ECANCELED && save_checkpoint(train, true, &save_err) < 0)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_FAILED,
					    .run_id = train->run.id,
					    .step = model_step(train->model) },
			   "%s, going back to the last checkpoint", save_err.text);
	return r;
}

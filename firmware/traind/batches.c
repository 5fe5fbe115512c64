/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/batches.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "data/batch.h"
#include "drivers/notify/alive.h"
#include "traind/obey.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>
#include <string.h>

#define POLL_MS       50u
#define RING_WAIT_MS  1000u
#define COLUMN_ABSENT UINT32_MAX

int batches_wait_plan(struct train *train, struct error *err)
{
	uint64_t said_us = 0;

	for (;;) {
		struct run now = { 0 };
		int r = wait_stopped(err);

		if (r == 0)
			r = want_check_early(train, err);
		if (r == 0 && !*train->run.plan_sha256)
			r = run_load(&now, err);
		if (r < 0)
			return r;
		if (*now.plan_sha256)
			memcpy(train->run.plan_sha256, now.plan_sha256, sizeof(now.plan_sha256));
		run_done(&now);
		if (*train->run.plan_sha256)
			return 0;
		wait_for(train, POLL_MS, "fetchd to fix the plan", &said_us);
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
	static const uint32_t dtypes[] = {
		[CONFIG_FLOAT32] = RING_FLOAT32, [CONFIG_INT64] = RING_INT64, [CONFIG_UINT8] = RING_UINT8
	};

	return find_column(train, input->name, dtypes[input->dtype], input->row_bytes, input->bytes);
}

static bool find_inputs(struct train *train)
{
	struct model_input input[MODEL_INPUTS_MAX];

	train->batches.inputs = model_inputs(train->model, input);
	for (uint32_t i = 0; i < train->batches.inputs; i++) {
		train->batches.input[i] = find_input(train, &input[i]);
		if (train->batches.input[i] == COLUMN_ABSENT)
			return false;
	}
	return true;
}

/* Returns whether the ring has as many rows as this rank trains on. With another number of boxes a rank has
 * other lanes. */
static bool has_our_rows(const struct train *train)
{
	const uint32_t empty = train->batches.empty;

	return empty != COLUMN_ABSENT &&
	       ring_geometry_of(train->ring)->column[empty].capacity == model_batch_rows(train->model);
}

/* Returns whether the ring has the columns of this run. Until fetchd has made a ring for this run, that of
 * another run may be there. */
static bool is_ours(struct train *train)
{
	const struct model_input label = model_label(train->model),
				 weight = model_sample_weight(train->model);

	train->batches.label = find_input(train, &label);
	train->batches.weight = weight.name ? find_input(train, &weight) : COLUMN_ABSENT;
	train->batches.empty =
		find_column(train, BATCH_COLUMN_EMPTY, RING_UINT8, 1, model_batch_rows(train->model));
	train->batches.left_out =
		find_column(train, BATCH_COLUMN_QUARANTINE, RING_UINT8, 0, sizeof(struct ring_quarantine));
	return has_our_rows(train) && find_inputs(train) && train->batches.label != COLUMN_ABSENT &&
	       (!weight.name || train->batches.weight != COLUMN_ABSENT) &&
	       (!train->quarantine.plan || train->batches.left_out != COLUMN_ABSENT);
}

static int note_checkpoint(void *context, const char *name, uint64_t bytes)
{
	bool *found = context;

	(void)bytes;
	*found |= spool_checkpoint_step(name) >= 0;
	return 0;
}

void batches_ask(struct train *train)
{
	const struct cursor begin = { .version = CURSOR_VERSION };
	char path[PATH_BYTES];
	bool found = false;

	if (spool_list(train->run.id, note_checkpoint, &found, NULL) < 0 || found ||
	    ring_open(path_of(PATH_RING, NULL, path), &train->ring, NULL) < 0)
		return;
	ring_attach(train->ring, &begin);
	train->batches.asked = true;
}

/* Returns whether batches_ask() has asked for the batch after `cursor`, and forgets that: a second call
 * returns false. */
static bool has_asked(struct train *train, const struct cursor *cursor)
{
	const struct cursor begin = { .version = CURSOR_VERSION };
	const bool asked = train->batches.asked;

	train->batches.asked = false;
	return asked && memcmp(cursor, &begin, sizeof(begin)) == 0 && is_ours(train);
}

/* Lets the device copy from the slots of the ring. */
static void show_ring(struct train *train)
{
	struct error err = { 0 };
	uint64_t bytes;
	void *memory = ring_memory(train->ring, &bytes);

	if (model_batch_memory(train->model, memory, bytes, &err) == 0 || train->told_unpinned)
		return;
	log_info("the ring is not pinned, so the host copies each batch once more: %s", err.text);
	train->told_unpinned = true;
}

static void close_ring(struct train *train)
{
	writer_wait(train);
	(void)!model_batch_memory(train->model, NULL, 0, NULL); /* without memory nothing fails */
	ring_close(train->ring);
	train->ring = NULL;
}

void batches_attach(struct train *train)
{
	struct cursor cursor;

	model_cursor_get(train->model, &cursor);
	if (has_asked(train, &cursor))
		show_ring(train);
	else
		close_ring(train);
}

/* Says once that the ring is damaged, until there is a ring that is not. */
static void say_damaged(struct train *train, int r, const struct error *err)
{
	if (r == -EUCLEAN && !train->batches.told)
		event_send(&(struct event){ .id = EVENT_RING_DAMAGED, .run_id = train->run.id },
			   "%s; waiting for fetchd to replace it", err->text);
	train->batches.told = r == -EUCLEAN;
}

/* Opens the ring and asks for the batch after the model's cursor. */
static int open_ring(struct train *train, struct error *err)
{
	struct cursor cursor;
	char path[PATH_BYTES];
	int r = ring_open(path_of(PATH_RING, NULL, path), &train->ring, err);

	if (r < 0 && r != -ENOENT && r != -ESTALE && r != -EUCLEAN)
		return r;
	say_damaged(train, r, err);
	if (r < 0 || !is_ours(train)) {
		ring_close(train->ring);
		train->ring = NULL;
		wait_for(train, POLL_MS, "fetchd to make the ring", &train->batches.said_us);
		return -EAGAIN;
	}
	train->batches.said_us = 0;
	show_ring(train);
	model_cursor_get(train->model, &cursor);
	ring_attach(train->ring, &cursor);
	log_debug("ring attached at split %u, segment %" PRIu64 ", batch %" PRIu64, cursor.split,
		  cursor.segment, cursor.batch);
	return 0;
}

/* ---- Slots ---- */

enum split batches_split(const struct ring_slot *slot)
{
	const uint32_t split = slot->split;

	return split < SPLIT_MAX ? (enum split)split : SPLIT_TEST;
}

int batches_follow(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const bool data = slot->kind == RING_DATA;
	const uint64_t found_step = slot->cursor.step;
	struct cursor cursor;
	uint64_t step;

	model_cursor_get(train->model, &cursor);
	step = cursor.step + (data && cursor.split == SPLIT_TRAIN);
	if (slot->split == cursor.split && slot->segment == cursor.segment && found_step == step &&
	    (!data || slot->batch == cursor.batch))
		return 0;
	(void)error_set(err, -EUCLEAN,
			"the ring gave %s %" PRIu64 ", batch %" PRIu64 ", with a cursor of step %" PRIu64
			", expected %s %" PRIu64 ", batch %" PRIu64 ", step %" PRIu64,
			split_name(batches_split(slot)), slot->segment + 1, slot->batch, found_step,
			split_name(cursor.split), cursor.segment + 1, cursor.batch, step);
	(void)!batches_release(train, true, NULL);
	ring_release(train->ring, slot);
	return err->code;
}

int batches_release(struct train *train, bool all, struct error *err)
{
	void *slot;

	for (;;) {
		int r = model_batch_done(train->model, all, &slot, err);

		if (r < 0)
			return r;
		if (!slot)
			break;
		stages_batch_done(&train->stages, batches_split(slot));
		ring_release(train->ring, slot);
	}
	return 0;
}

static void wait_for_slot(struct train *train)
{
	const uint64_t start = clock_us();
	const enum stage before = stages_enter(&train->stages, STAGE_WAITING);

	(void)ring_reader_wait(train->ring, RING_WAIT_MS);
	(void)stages_enter(&train->stages, before);
	publish_waited(train, WAIT_FEED, clock_us() - start);
	alive_tick(train->worker);
}

int batches_look(struct train *train, const struct ring_slot **ret_slot, struct error *err)
{
	int r = train->ring ? 0 : open_ring(train, err), released;

	if (r < 0)
		return r;
	r = ring_next(train->ring, ret_slot, err);
	if (r != -EAGAIN && r != -EPIPE)
		return r;
	if ((released = batches_release(train, true, err)) < 0 || (released = save_if_due(train, err)) < 0)
		return released;
	if (r == -EAGAIN)
		wait_for_slot(train);
	else
		batches_attach(train);
	return -EAGAIN;
}

int batches_next(struct train *train, const struct ring_slot **ret_slot, struct error *err)
{
	int r;

	do {
		r = wait_stopped(err);
		if (r == 0)
			r = obey(train, err);
		if (r == 0)
			r = batches_look(train, ret_slot, err);
	} while (r == -EAGAIN);
	return r;
}

void batches_read(const struct train *train, const struct ring_slot *slot, struct model_batch *ret_batch)
{
	const struct config *config = &train->run.config;

	*ret_batch = (struct model_batch){
		.label = ring_column_data(train->ring, slot, train->batches.label),
		.weight = train->batches.weight == COLUMN_ABSENT
				  ? NULL
				  : ring_column_data(train->ring, slot, train->batches.weight),
		.empty = ring_column_data(train->ring, slot, train->batches.empty),
		.rows = slot->rows,
		.valid_rows = slot->valid_rows,
		.first_row = slot->first_row,
		.part = order_part((uint32_t)config->order.lanes, train->world.count, train->world.rank,
				   config->run.batch_rows),
		/* passed to ring_release() later, which does not write to the slot */
		.ticket = (void *)(uintptr_t)slot,
	};
	for (uint32_t i = 0; i < train->batches.inputs; i++)
		ret_batch->input[i] = ring_column_data(train->ring, slot, train->batches.input[i]);
}

int batches_add_left_out(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const uint64_t bytes = train->quarantine.plan ? slot->column[train->batches.left_out].bytes : 0;

	return bytes == 0 ? 0
			  : quarantine_add(&train->quarantine,
					   ring_column_data(train->ring, slot, train->batches.left_out),
					   bytes, slot->segment == 0, err);
}

/* Takes the error from fetchd's record in the slot. The record is shared memory that fetchd writes, so its
 * texts may lack the terminating NUL. */
int batches_refuse(struct train *train, const struct ring_slot *slot, struct error *err)
{
	struct ring_error record = *ring_error_data(train->ring, slot);
	int r = slot->error_code < 0 && slot->error_code >= -4095 ? slot->error_code : -EIO;

	if (batches_add_left_out(train, slot, err) == 0 && world_leads(&train->world) &&
	    record_write(train, err) < 0)
		log_warning("%s", err->text);
	record.text[sizeof(record.text) - 1] = '\0';
	record.key[sizeof(record.key) - 1] = '\0';
	ring_release(train->ring, slot);
	if (*record.key)
		return error_set(err, r, "fetchd: %s; object %s, byte %" PRIu64, record.text, record.key,
				 record.offset);
	return error_set(err, r, "fetchd: %s", record.text);
}

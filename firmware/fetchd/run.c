/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "data/batch.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "fetchd/produce/produce.h"

#include <inttypes.h>
#include <string.h>

#define WAIT_MS      10 /* for the workers; a reader's new wish, or wait, is seen this late at most */
#define PAGE_US      250000
#define RING_WAIT_MS 1000 /* for the reader; a run that is over is seen this late at most */

/* ---- Publishing ---- */

static void fill_error(const struct ring *ring, struct pending *pending)
{
	struct ring_error *record = ring_error_data(ring, pending->slot);

	memset(record, 0, sizeof(*record));
	(void)snprintf(record->text, sizeof(record->text), "%.*s", (int)sizeof(record->text) - 1,
		       pending->err.text);
	(void)snprintf(record->key, sizeof(record->key), "%s", pending->err_key ? pending->err_key : "");
	record->offset = pending->err_offset;
	pending->slot->error_code = pending->err.code;
	pending->kind = RING_ERROR;
}

/* Rows left empty, and shards whose rest was left out, count for the whole run. */
static void spend_budget(struct producer *producer, struct pending *pending)
{
	uint64_t max = producer->fetch->run.config.fetch.skip_records_max;

	producer->skipped += pending->skipped;
	pending->cursor.skipped += producer->skipped;
	if (pending->cursor.skipped > max && !pending->err.code)
		(void)error_set(&pending->err, -EBADMSG,
				"%" PRIu64 " records skipped in this run, fetch.skip_records_max is %" PRIu64,
				pending->cursor.skipped, max);
}

static void fill_header(struct fetch *fetch, struct pending *pending)
{
	struct ring_slot *slot = pending->slot;
	bool data = pending->kind == RING_DATA;

	slot->kind = pending->kind;
	slot->split = pending->split;
	slot->segment = pending->segment;
	slot->batch = pending->batch;
	slot->first_row = pending->first_row;
	slot->cursor = pending->cursor;
	slot->rows = data ? pending->rows : 0;
	slot->valid_rows = data ? pending->rows - pending->skipped - pending->empty : 0;
	if (pending->kind == RING_END_SEGMENT) {
		slot->total_batches = pending->batch;
		slot->total_rows = pending->first_row;
		slot->total_skipped = pending->cursor.skipped;
	}
	/* A worker has done it, but for a batch that was found to have ended after its last row was in. */
	if (data && !pending->packed && batch_is_ragged(&fetch->schema)) {
		struct batch_slot batch = batch_slot(&fetch->schema, fetch->ring, slot);

		batch_pack(&batch, slot->rows, pending->packed_bytes);
	}
	batch_set_bytes(&fetch->schema, ring_geometry_of(fetch->ring), pending->packed_bytes, slot);
	quarantine_seal(fetch, pending);
}

/* For the page: what is in the ring now. */
static void count(struct producer *producer, const struct pending *pending)
{
	struct status_fetchd *fetchd = &producer->status.fetchd;

	fetchd->segment = pending->segment;
	fetchd->batch = pending->batch;
	fetchd->records += pending->kind == RING_DATA ? pending->rows - pending->empty : 0;
	fetchd->skipped += pending->skipped;
}

static void say_error(const struct producer *producer, const struct pending *pending)
{
	event_send(&(struct event){ .id = pending->err.code == -ESTALE ? EVENT_OBJECT_CHANGED
								       : EVENT_SOURCE_FAILED,
				    .run_id = producer->fetch->run.id,
				    .key = pending->err_key,
				    .offset = pending->err_offset },
		   "%s", pending->err.text);
}

static void publish(struct producer *producer, struct pending *pending)
{
	struct ring *ring = producer->fetch->ring;

	spend_budget(producer, pending);
	if (pending->err.code)
		fill_error(ring, pending);
	fill_header(producer->fetch, pending);
	ring_commit(ring);
	count(producer, pending);
	if (pending->kind != RING_ERROR) {
		alive_progress();
		return;
	}
	say_error(producer, pending);
	/* The last of its generation: what was claimed behind it is forgotten. */
	ring_unclaim(ring);
	producer->tail = producer->head - 1;
	producer->open = NULL;
	producer->filling = false;
	producer->closed = true;
}

/* Everything at the front that is whole. */
static bool publish_ready(struct producer *producer)
{
	uint64_t slots = producer->fetch->run.config.ring.slots;
	bool any = false;

	while (producer->tail < producer->head) {
		struct pending *pending = &producer->pending[producer->tail % slots];

		if (!pending->sealed || pending->spans > 0)
			break;
		publish(producer, pending);
		producer->tail++;
		any = true;
	}
	return any;
}

/* ---- Generations ---- */

static bool busy(const struct producer *producer)
{
	for (uint32_t i = 0; i < producer->fetch->streams; i++)
		for (uint32_t k = 0; k < producer->fetch->stream[i].windows; k++) {
			const struct window *window = &producer->fetch->stream[i].window[k];

			if (window->state == WINDOW_LOADING)
				return true;
		}
	return producer->fetch->spans > 0;
}

/* Not as each span is handed out: who wakes then waits for the lock. */
static void tell_workers(struct fetch *fetch)
{
	if (fetch->unsaid == 1)
		(void)pthread_cond_signal(&fetch->work);
	else if (fetch->unsaid > 1)
		(void)pthread_cond_broadcast(&fetch->work);
	fetch->unsaid = 0;
}

static void wait_progress(struct fetch *fetch)
{
	tell_workers(fetch);
	fetch_wait(fetch, &fetch->progress, WAIT_MS);
}

/* Threads quiet, nothing claimed, all windows free. */
static void quiesce(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;

	fetch->discard = true;
	for (uint32_t i = 0; i < fetch->sources; i++)
		store_wake(fetch->source[i].store);
	while (busy(producer))
		wait_progress(fetch);
	fetch->discard = false;
	for (uint32_t i = 0; i < fetch->streams; i++)
		for (uint32_t k = 0; k < fetch->stream[i].windows; k++)
			fetch->stream[i].window[k].state = WINDOW_IDLE;
	producer->open = NULL;
	producer->filling = false;
	producer->head = producer->tail = 0;
}

/* Follow the reader's newest wish. A place that is none ends its generation with an ERROR slot. */
static void follow(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;
	struct error err = { 0 };
	struct cursor from;
	bool closed;
	uint64_t generation = ring_request(fetch->ring, &from, &closed);

	if (generation == producer->generation)
		return;
	quiesce(producer);
	ring_begin(fetch->ring, generation);
	producer->generation = generation;
	producer->closed = closed;
	producer->skipped = 0;
	memset(&fetch->unplaced, 0, sizeof(fetch->unplaced));
	if (!closed && cursor_check(fetch, &from, &err) < 0) {
		producer->cursor = (struct cursor){ .version = CURSOR_VERSION };
		(void)produce_error(producer, &err, NULL, 0);
		return;
	}
	produce_from(producer, &from);
	log_info("generation %" PRIu64 ": from split %u, segment %" PRIu64 ", batch %" PRIu64, generation,
		 from.split, from.segment, from.batch);
	notify_status("filling the ring from segment %" PRIu64 ", batch %" PRIu64, from.segment, from.batch);
}

/* What the file's damage made of the indices comes second. A new start makes a new ring. */
static int check_ring(const struct fetch *fetch, enum step step, struct error *err)
{
	if (!ring_intact(fetch->ring))
		return error_set(err, -EUCLEAN, "the ring's file was cut under its writer");
	if (step == STEP_BROKEN)
		return error_set(err, -EUCLEAN, "the ring's tail makes no sense: its reader is broken");
	return 0;
}

static bool run_is_final(void)
{
	enum run_state state;
	struct error err;

	return run_state_get(&state, &err) == 0 && run_state_is_final(state);
}

/* Once: it goes on as long as the windows are so large. */
static void say_spilled(struct producer *producer)
{
	const struct budget *budget = &producer->fetch->budget;
	uint64_t bytes = atomic_load_explicit(&budget->spilled, memory_order_relaxed);
	char folder[PATH_BYTES];

	if (bytes == 0 || producer->said_spilled)
		return;
	producer->said_spilled = true;
	log_notice("windows ahead do not fit fetch.memory_bytes, %" PRIu64 ": %" PRIu64
		   " bytes of them lie in %s",
		   budget->max, bytes, path_of(PATH_CACHE, NULL, folder));
}

/* One turn of the loop, the lock held. True when only the reader can bring news. */
static bool turn(struct producer *producer, int *ret_broken, struct error *err)
{
	enum step step;

	follow(producer);
	stall_look(producer);
	step = produce(producer);
	say_spilled(producer);
	*ret_broken = check_ring(producer->fetch, step, err);
	if (*ret_broken < 0 || publish_ready(producer) || step == STEP_DONE)
		return false;
	if (step == STEP_WAIT_RING && producer->tail == producer->head)
		return true;
	wait_progress(producer->fetch);
	return false;
}

/* ---- The page ---- */

static void open_page(struct producer *producer)
{
	const struct fetch *fetch = producer->fetch;
	struct error err;

	if (status_open(STATUS_FETCHD, &producer->page, &err) < 0)
		log_warning("no status page: %s", err.text);
	(void)snprintf(producer->status.run_id, sizeof(producer->status.run_id), "%s", fetch->run.id);
	producer->status.fetchd.fast = fetch->fast;
	(void)snprintf(producer->status.phase, sizeof(producer->status.phase), "fetching");
	if (fetch->sources > 1)
		(void)snprintf(producer->status.text, sizeof(producer->status.text), "%s and %u more",
			       fetch->run.config.source[0].store.url, fetch->sources - 1);
	else
		(void)snprintf(producer->status.text, sizeof(producer->status.text), "%s",
			       fetch->run.config.source[0].store.url);
}

static void write_page(struct producer *producer, bool now)
{
	struct fetch *fetch = producer->fetch;
	struct status page;

	if (!producer->page || (!now && clock_us() - producer->written_us < PAGE_US))
		return;
	producer->status.fetchd.bytes = producer->status.fetchd.retries = 0;
	for (uint32_t i = 0; i < fetch->sources; i++) {
		producer->status.fetchd.bytes += atomic_load(&fetch->source[i].bytes_in);
		producer->status.fetchd.retries += atomic_load(&fetch->source[i].retries);
	}
	cache_count(fetch, &producer->status.fetchd);
	tune_look(producer);
	tune_show(producer, &producer->status.fetchd);
	page = producer->status;
	stall_show(producer, &page.fetchd);
	status_write(producer->page, &page);
	producer->written_us = clock_us();
}

static int wait_for_reader(struct producer *producer)
{
	uint64_t began_us = clock_us();
	int r = ring_writer_wait(producer->fetch->ring, RING_WAIT_MS);

	if (!producer->closed)
		producer->status.fetchd.full_us += clock_us() - began_us;
	return r;
}

int fetch_run(struct fetch *fetch, struct error *err)
{
	static struct producer producer; /* the other threads read its windows until the process ends */
	struct alive_worker *worker = alive_worker("the producer");
	int r = 0;

	producer = (struct producer){ .fetch = fetch, .closed = true };
	producer.pending = calloc(fetch->run.config.ring.slots, sizeof(*producer.pending));
	if (fetch->sources > 1)
		producer.room = calloc((fetch->run.config.ring.slots + 1) * fetch->run.config.run.batch_rows,
				       2 * sizeof(*producer.room));
	if (!producer.pending || (fetch->sources > 1 && !producer.room))
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " slots",
				 fetch->run.config.ring.slots);
	tune_begin(&producer);
	producer.status.fetchd.stalled_us[STALL_LIST] = fetch->listed_us;
	open_page(&producer);
	fetch->cursor = &producer.cursor;
	for (;; alive_tick(worker)) {
		bool idle;

		(void)pthread_mutex_lock(&fetch->lock);
		do {
			write_page(&producer, false);
			alive_tick(worker);
			idle = turn(&producer, &r, err);
		} while (!idle && r == 0);
		tell_workers(fetch);
		(void)pthread_mutex_unlock(&fetch->lock);
		if (r < 0)
			return r;
		if (wait_for_reader(&producer) == -ETIMEDOUT && run_is_final()) {
			stall_say(&producer);
			write_page(&producer, true);
			cache_end(fetch);
			return 0;
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/run.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/page.h"
#include "fetchd/prefetch/prefetch.h"
#include "fetchd/produce/produce.h"
#include "fetchd/produce/publish.h"
#include "fetchd/produce/segment.h"
#include "fetchd/produce/slot.h"
#include "fetchd/ranks.h"
#include "fetchd/shard/sources.h"
#include "fetchd/shard/work.h"
#include "fetchd/tune.h"

#include <inttypes.h>
#include <string.h>

#define WAIT_MS      10   /* longest wait for the workers, then follow() looks at the reader's cursor */
#define RING_WAIT_MS 1000 /* longest wait for the reader, then run_is_final() looks at the run's state */

struct loop {
	struct producer producer;
	struct tune tune;
	struct page page;
	bool closed; /* producer.closed in the turn before */
	bool said_spilled;
};

/* ---- Generations ---- */

static void wait_progress(struct fetch *fetch)
{
	work_tell(fetch->work);
	fetch_wait(fetch, &fetch->progress, WAIT_MS);
}

/* Gives up all loads and waits for the threads: afterwards nothing loads, no span is in work and all windows
 * are idle. Workers may still write into claimed slots before that, which is why ring_begin() comes
 * afterwards. */
static void quiesce(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;

	fetch->discard = true;
	sources_wake(fetch->sources);
	while (streams_are_loading(fetch->streams) || fetch->work->spans > 0)
		wait_progress(fetch);
	fetch->discard = false;
	streams_forget(fetch->streams);
	produce_forget(producer);
}

/* Follows the reader's newest cursor. An invalid cursor ends its generation with an ERROR slot. Returns
 * -ESTALE where the cursor is invalid because other boxes train now: the trainer knows that already. */
static int follow(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;
	struct error err = { 0 };
	struct cursor from;
	bool closed;
	uint64_t generation = ring_request(fetch->ring, &from, &closed);

	if (generation == producer->generation)
		return 0;
	quiesce(producer);
	ring_begin(fetch->ring, generation);
	producer->generation = generation;
	producer->closed = closed;
	producer->skipped = 0;
	memset(&producer->unplaced, 0, sizeof(producer->unplaced));
	if (!closed && segment_check(fetch, &from, &err) < 0) {
		producer->cursor = (struct cursor){ .version = CURSOR_VERSION };
		if (ranks_have_changed())
			return -ESTALE;
		(void)slot_fail(producer, &err, NULL, 0);
		return 0;
	}
	produce_from(producer, &from);
	log_info("generation %" PRIu64 ": from split %u, segment %" PRIu64 ", batch %" PRIu64, generation,
		 from.split, from.segment, from.batch);
	notify_status("filling the ring from segment %" PRIu64 ", batch %" PRIu64, from.segment, from.batch);
	return 0;
}

/* The two ways in which the ring can be damaged; a new start makes a new ring. A cut file is checked first,
 * as it may be the cause of wrong indices. */
static int check_ring(const struct fetch *fetch, enum step step, struct error *err)
{
	if (!ring_intact(fetch->ring))
		return error_set(err, -EUCLEAN, "the ring's file was cut under its writer");
	if (step == STEP_BROKEN)
		return error_set(err, -EUCLEAN, "the ring's tail is out of range: its reader is broken");
	return 0;
}

static bool run_is_final(void)
{
	enum run_state state;
	struct error err;

	return run_state_get(&state, &err) == 0 && run_state_is_final(state);
}

/* Says once that windows spill. */
static void say_spilled(struct loop *loop)
{
	const struct budget *budget = &loop->producer.fetch->budget;
	uint64_t bytes = atomic_load_explicit(&budget->spilled, memory_order_relaxed);
	char folder[PATH_BYTES];

	if (bytes == 0 || loop->said_spilled)
		return;
	loop->said_spilled = true;
	log_notice("windows ahead do not fit fetch.memory_bytes, %" PRIu64 ": %" PRIu64
		   " bytes of them lie in %s",
		   budget->max, bytes, path_of(PATH_CACHE, NULL, folder));
}

/* Writes the page before the reader sees the end of the run: its record gets the bytes that were read,
 * however short the run was. */
static void show_end(struct loop *loop)
{
	if (loop->producer.closed && !loop->closed)
		page_write(&loop->page, &loop->producer, &loop->tune);
	loop->closed = loop->producer.closed;
}

/* One turn of the loop; the lock is held. True: nothing can be done until the reader releases a slot or asks
 * for a generation. */
static bool turn(struct loop *loop, int *ret_broken, struct error *err)
{
	struct producer *producer = &loop->producer;
	enum step step;

	*ret_broken = follow(producer);
	if (*ret_broken < 0)
		return false;
	stall_look(&producer->stall, !producer->closed && ring_reader_waits(producer->fetch->ring));
	step = produce(producer);
	prefetch_look(producer->fetch, &producer->cursor);
	show_end(loop);
	say_spilled(loop);
	*ret_broken = check_ring(producer->fetch, step, err);
	if (*ret_broken < 0 || publish_ready(producer) || step == STEP_DONE)
		return false;
	if (step == STEP_WAIT_RING && producer->tail == producer->head)
		return true;
	wait_progress(producer->fetch);
	return false;
}

static void look(struct loop *loop)
{
	if (!page_is_due(&loop->page))
		return;
	tune_look(&loop->tune, loop->producer.fetch, &loop->producer.stall);
	page_write(&loop->page, &loop->producer, &loop->tune);
}

static int wait_for_reader(struct producer *producer)
{
	uint64_t began_us = clock_us();
	int r = ring_writer_wait(producer->fetch->ring, RING_WAIT_MS);

	if (!producer->closed)
		producer->stall.full_us += clock_us() - began_us;
	return r;
}

static int finish(struct loop *loop)
{
	struct fetch *fetch = loop->producer.fetch;

	stall_say(&loop->producer.stall);
	(void)pthread_mutex_lock(&fetch->lock);
	page_write(&loop->page, &loop->producer, &loop->tune);
	(void)pthread_mutex_unlock(&fetch->lock);
	if (fetch->warnings > 0)
		log_notice("the decoder warned %" PRIu64
			   " times of a picture that has all its pixels and is used",
			   fetch->warnings);
	shard_cache_end(fetch);
	return 0;
}

int fetch_run(struct fetch *fetch, uint64_t listed_us, struct error *err)
{
	static struct loop loop; /* static, as other threads read the cursor until the process ends */
	struct alive_worker *worker = alive_worker("the producer");
	int r = produce_begin(&loop.producer, fetch, err);

	if (r < 0)
		return r;
	tune_begin(&loop.tune, fetch);
	loop.producer.stall.stalled_us[STALL_LIST] = listed_us;
	page_open(&loop.page, fetch);
	fetch->cursor = &loop.producer.cursor;
	for (;; alive_tick(worker)) {
		bool idle;

		(void)pthread_mutex_lock(&fetch->lock);
		do {
			look(&loop);
			alive_tick(worker);
			idle = turn(&loop, &r, err);
		} while (!idle && r == 0);
		work_tell(fetch->work);
		(void)pthread_mutex_unlock(&fetch->lock);
		if (r < 0)
			return r;
		/* The trainer has gone, or waits for a ring of other lanes, where other boxes train now. */
		if (wait_for_reader(&loop.producer) != -ETIMEDOUT)
			continue;
		if (run_is_final())
			return finish(&loop);
		if (ranks_have_changed())
			return error_set(err, -ESTALE, "other boxes train the run now");
	}
}

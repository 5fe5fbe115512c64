/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of a ring at the same time: threads that fill slots and a committer, a reader and threads that
 * release slots; the reader also jumps back and forth. Both sides use one mapping, because the thread
 * sanitizer identifies memory by its address: with two mappings it would see no pair of atomic operations.
 */
#include "core/ring/ring_shared.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define SLOTS     8
#define WORDS     64
#define FILLERS   2
#define RELEASERS 2
#define TOTAL     50000u
#define REWIND    2500u /* batches after which the reader goes back */
#define BACK      100u
#define OVER      UINT64_MAX

static const struct ring_geometry geometry = { .slots = SLOTS,
					       .columns = 1,
					       .column = { { "x", RING_INT64, WORDS * 8, WORDS * 8 } } };

static _Atomic bool over;

static uint64_t word(uint64_t batch, uint64_t i)
{
	uint64_t x = batch * 1000 + i;

	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	return x ^ (x >> 33);
}

/* ---- Writer: slots are claimed ahead, filled by any thread in any order, committed in order. ---- */

static struct {
	struct ring *ring;
	sem_t work;
	_Atomic uint64_t taken;
	struct {
		struct ring_slot *slot;
		uint64_t batch;
		sem_t filled;
	} job[SLOTS];
} fill;

static void *filler(void *argument)
{
	(void)argument;
	for (;;) {
		uint64_t *words, i;

		(void)sem_wait(&fill.work);
		i = atomic_fetch_add(&fill.taken, 1) % SLOTS;
		if (fill.job[i].batch == OVER)
			return NULL;
		words = ring_column_data(fill.ring, fill.job[i].slot, 0);
		for (uint64_t w = 0; w < WORDS; w++)
			words[w] = word(fill.job[i].batch, w);
		(void)sem_post(&fill.job[i].filled);
	}
}

static void give(uint64_t number, struct ring_slot *slot, uint64_t batch)
{
	fill.job[number % SLOTS].slot = slot;
	fill.job[number % SLOTS].batch = batch;
	(void)sem_post(&fill.work);
}

static void commit(uint64_t number)
{
	struct ring_slot *slot = fill.job[number % SLOTS].slot;
	uint64_t batch = fill.job[number % SLOTS].batch;

	(void)sem_wait(&fill.job[number % SLOTS].filled);
	slot->kind = RING_DATA;
	slot->rows = slot->valid_rows = 1;
	slot->batch = batch;
	slot->column[0].bytes = WORDS * 8;
	slot->cursor = (struct cursor){ .version = CURSOR_VERSION, .batch = batch + 1 };
	ring_commit(fill.ring);
}

static void *writer(void *argument)
{
	uint64_t generation = 0, next = TOTAL, given = 0, done = 0;
	struct ring *ring = argument;
	pthread_t thread[FILLERS];

	for (int i = 0; i < FILLERS; i++)
		(void)pthread_create(&thread[i], NULL, filler, NULL);
	while (!atomic_load(&over)) {
		struct ring_slot *slot;
		struct cursor from;
		bool closed;
		uint64_t wanted = ring_request(ring, &from, &closed);

		if (wanted != generation) {
			ring_begin(ring, wanted);
			generation = wanted;
			next = from.batch;
		}
		while (next < TOTAL && ring_claim(ring, &slot) == 0)
			give(given++, slot, next++);
		if (done == given)
			(void)ring_writer_wait(ring, 20);
		while (done < given)
			commit(done++);
	}
	for (int i = 0; i < FILLERS; i++)
		give(given++, NULL, OVER);
	for (int i = 0; i < FILLERS; i++)
		(void)pthread_join(thread[i], NULL);
	return NULL;
}

/* ---- Reader: slots are checked and released by several threads, in any order. ---- */

static struct {
	struct ring *ring;
	_Atomic uint64_t wrong;
	struct {
		sem_t full, empty;
		const struct ring_slot *slot;
		uint64_t batch;
	} box[RELEASERS];
} use;

static void check_and_release(const struct ring_slot *slot, uint64_t batch)
{
	const uint64_t *words = ring_column_data(use.ring, slot, 0);
	uint64_t wrong = slot->batch != batch;

	for (uint64_t w = 0; w < WORDS; w++)
		wrong += words[w] != word(batch, w);
	ring_release(use.ring, slot);
	if (wrong)
		atomic_fetch_add(&use.wrong, wrong);
}

static void *releaser(void *argument)
{
	size_t i = (size_t)(uintptr_t)argument;

	for (;;) {
		(void)sem_wait(&use.box[i].full);
		if (!use.box[i].slot)
			return NULL;
		check_and_release(use.box[i].slot, use.box[i].batch);
		(void)sem_post(&use.box[i].empty);
	}
}

static void hand_over(const struct ring_slot *slot, uint64_t batch)
{
	size_t i = batch % (RELEASERS + 1);

	if (i == RELEASERS) {
		check_and_release(slot, batch);
		return;
	}
	(void)sem_wait(&use.box[i].empty);
	use.box[i].slot = slot;
	use.box[i].batch = batch;
	(void)sem_post(&use.box[i].full);
}

static int read_all(struct ring *ring)
{
	struct cursor at = { .version = CURSOR_VERSION };
	uint64_t batch = 0, since = 0;
	int r = 0;

	ring_attach(ring, &at);
	while (batch < TOTAL) {
		const struct ring_slot *slot;
		struct error err;

		r = ring_next(ring, &slot, &err);
		if (r == -EAGAIN) {
			(void)ring_reader_wait(ring, 100);
			continue;
		}
		if (r < 0) {
			print_error("%s\n", err.text);
			return r;
		}
		hand_over(slot, batch++);
		if (++since == REWIND) {
			since = 0;
			batch -= BACK;
			at.batch = batch;
			ring_attach(ring, &at);
		}
	}
	return 0;
}

static void start_releasers(pthread_t thread[RELEASERS])
{
	for (size_t i = 0; i < RELEASERS; i++) {
		(void)sem_init(&use.box[i].full, 0, 0);
		(void)sem_init(&use.box[i].empty, 0, 1);
		(void)pthread_create(&thread[i], NULL, releaser, (void *)(uintptr_t)i);
	}
}

static void end_releasers(pthread_t thread[RELEASERS])
{
	for (size_t i = 0; i < RELEASERS; i++) {
		(void)sem_wait(&use.box[i].empty);
		use.box[i].slot = NULL;
		(void)sem_post(&use.box[i].full);
		(void)pthread_join(thread[i], NULL);
	}
}

/* ---- Both ---- */

static void use_mapping_of(struct ring *ring, const struct ring *other)
{
	ring_guard_drop(ring->guard);
	ring->guard = RING_NO_GUARD;
	(void)munmap(ring->control, ring->file_bytes);
	ring->control = other->control;
	ring->slots = other->slots;
}

static void nothing_is_lost_repeated_or_torn(void **state)
{
	char folder[] = "/tmp/kiln-ring-XXXXXX", path[80];
	pthread_t thread, releasers[RELEASERS];
	struct error err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	assert_int_equal(ring_create(path, &geometry, 0, &fill.ring, &err), 0);
	assert_int_equal(ring_open(path, &use.ring, &err), 0);
	use_mapping_of(use.ring, fill.ring);
	(void)sem_init(&fill.work, 0, 0);
	for (int i = 0; i < SLOTS; i++)
		(void)sem_init(&fill.job[i].filled, 0, 0);
	start_releasers(releasers);
	assert_int_equal(pthread_create(&thread, NULL, writer, fill.ring), 0);
	assert_int_equal(read_all(use.ring), 0);
	end_releasers(releasers);
	atomic_store(&over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(use.wrong, 0);
	assert_int_equal(use.ring->control->request, 1 + (TOTAL - BACK) / (REWIND - BACK));
	use.ring->control = NULL;
	ring_close(use.ring);
	ring_close(fill.ring);
	(void)unlink(path);
	(void)rmdir(folder);
}

/* ---- The writer right after the reader: two empty slots, no side sleeps, one thread releases. ---- */

#define LEAN_TOTAL 100000u
#define LEAN_SPINS 200u /* checks of a full ring before yielding the core */

static const struct ring_geometry lean = { .slots = 2 };
static const struct ring_slot *_Atomic out;
static struct {
	struct ring *to, *back;
	uint64_t early; /* times that tail was seen before `released` */
} heels;

/* A thread that sees a tail must see `released` as well, or the next head would look out of range. */
static void look(void)
{
	uint64_t tail = atomic_load_explicit(&heels.to->control->tail, memory_order_acquire);

	heels.early += atomic_load_explicit(&heels.back->released, memory_order_relaxed) < tail;
}

static void *lean_writer(void *argument)
{
	struct ring_slot *slot;

	(void)argument;
	for (uint64_t batch = 0; batch < LEAN_TOTAL;) {
		for (uint32_t spins = 0; spins < LEAN_SPINS; spins++)
			look();
		if (ring_claim(heels.to, &slot) < 0) {
			(void)sched_yield();
			continue;
		}
		slot->kind = RING_DATA;
		slot->cursor = (struct cursor){ .version = CURSOR_VERSION, .batch = ++batch };
		ring_commit(heels.to);
	}
	return NULL;
}

static void *lean_releaser(void *argument)
{
	(void)argument;
	for (uint64_t batch = 0; batch < LEAN_TOTAL;) {
		const struct ring_slot *slot = atomic_exchange(&out, NULL);

		if (!slot) {
			(void)sched_yield();
			continue;
		}
		ring_release(heels.back, slot);
		batch++;
	}
	return NULL;
}

static int lean_read(struct ring *ring)
{
	for (uint64_t batch = 0; batch < LEAN_TOTAL;) {
		const struct ring_slot *slot;
		struct error err;
		int r = ring_next(ring, &slot, &err);

		if (r == -EAGAIN) {
			(void)sched_yield();
			continue;
		}
		if (r < 0) {
			print_error("%s\n", err.text);
			return r;
		}
		while (atomic_load(&out))
			(void)sched_yield();
		atomic_store(&out, slot);
		batch++;
	}
	return 0;
}

static void an_honest_writer_never_looks_wild(void **state)
{
	char folder[] = "/tmp/kiln-ring-XXXXXX", path[80];
	const struct cursor from = { .version = CURSOR_VERSION };
	pthread_t thread[2];
	struct cursor at;
	struct error err;
	bool closed;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	assert_int_equal(ring_create(path, &lean, 0, &heels.to, &err), 0);
	assert_int_equal(ring_open(path, &heels.back, &err), 0);
	use_mapping_of(heels.back, heels.to);
	ring_attach(heels.back, &from);
	ring_begin(heels.to, ring_request(heels.to, &at, &closed));
	assert_int_equal(pthread_create(&thread[0], NULL, lean_writer, NULL), 0);
	assert_int_equal(pthread_create(&thread[1], NULL, lean_releaser, NULL), 0);
	assert_int_equal(lean_read(heels.back), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(heels.early, 0);
	heels.back->control = NULL;
	ring_close(heels.back);
	ring_close(heels.to);
	(void)unlink(path);
	(void)rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(an_honest_writer_never_looks_wild),
					    cmocka_unit_test(nothing_is_lost_repeated_or_torn) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of a ring at once, in one process so that a thread sanitizer sees every access: a committer with
 * filling threads behind it, and a reader that hands slots to two threads which release them out of order.
 */
#include "core/ring.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS  8
#define WORDS  64
#define TOTAL  20000u
#define REWIND 5000u /* the reader attaches anew each time it has read so many */

static char path[80];

static const struct ring_geometry geometry = { .slots = SLOTS,
					       .columns = 1,
					       .column = { { "x", RING_INT64, WORDS * 8, WORDS * 8 } } };

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	return x ^ (x >> 33);
}

static void *writer(void *argument)
{
	uint64_t generation = 0, next = TOTAL;
	struct ring *ring = argument;

	while (__atomic_load_n(&path[0], __ATOMIC_RELAXED)) {
		struct ring_slot *slot;
		struct cursor from;
		bool closed;
		uint64_t wanted = ring_request(ring, &from, &closed);

		if (wanted != generation) {
			ring_begin(ring, wanted);
			generation = wanted;
			next = from.batch;
		}
		if (next >= TOTAL || ring_claim(ring, &slot) < 0) {
			(void)ring_writer_wait(ring, 20);
			continue;
		}
		slot->kind = RING_DATA;
		slot->rows = slot->valid_rows = 1;
		slot->batch = next;
		slot->column[0].bytes = WORDS * 8;
		for (uint64_t i = 0; i < WORDS; i++)
			((uint64_t *)ring_column_data(ring, slot, 0))[i] = mix(next * 1000 + i);
		slot->cursor = (struct cursor){ .version = CURSOR_VERSION, .batch = ++next };
		ring_commit(ring);
	}
	return NULL;
}

struct hand {
	struct ring *ring;
	const struct ring_slot *slot;
	uint64_t batch, wrong;
};

static void *check_and_release(void *argument)
{
	struct hand *hand = argument;
	const uint64_t *words = ring_column_data(hand->ring, hand->slot, 0);

	for (uint64_t i = 0; i < WORDS; i++)
		hand->wrong += words[i] != mix(hand->batch * 1000 + i);
	ring_release(hand->ring, hand->slot);
	return NULL;
}

static const struct ring_slot *next_slot(struct ring *ring)
{
	const struct ring_slot *slot;
	struct error err;

	while (ring_next(ring, &slot, &err) < 0)
		(void)ring_reader_wait(ring, 100);
	return slot;
}

/* Two slots at a time, the later one released by another thread. */
static uint64_t read_all(struct ring *ring)
{
	struct cursor at = { .version = CURSOR_VERSION };
	uint64_t wrong = 0;

	for (uint64_t batch = 0; batch < TOTAL; batch += 2) {
		struct hand hand[2] = { { .ring = ring, .batch = batch },
					{ .ring = ring, .batch = batch + 1 } };
		bool apart = batch % 64 == 0;
		pthread_t thread;

		if (batch % REWIND == 0) {
			at.batch = batch;
			ring_attach(ring, &at);
		}
		for (int i = 0; i < 2; i++) {
			hand[i].slot = next_slot(ring);
			wrong += hand[i].slot->batch != hand[i].batch;
		}
		if (apart)
			(void)pthread_create(&thread, NULL, check_and_release, &hand[1]);
		else
			(void)check_and_release(&hand[1]);
		(void)check_and_release(&hand[0]);
		if (apart)
			(void)pthread_join(thread, NULL);
		wrong += hand[0].wrong + hand[1].wrong;
	}
	return wrong;
}

static void nothing_is_lost_repeated_or_torn(void **state)
{
	char folder[] = "/tmp/kiln-ring-XXXXXX", file[96];
	struct ring *out, *in;
	pthread_t thread;
	struct error err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	(void)snprintf(file, sizeof(file), "%s", path);
	assert_int_equal(ring_create(path, &geometry, 0, &out, &err), 0);
	assert_int_equal(ring_open(path, &in, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, writer, out), 0);
	assert_int_equal(read_all(in), 0);
	__atomic_store_n(&path[0], '\0', __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	ring_close(in);
	ring_close(out);
	(void)unlink(file);
	(void)rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_is_lost_repeated_or_torn) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

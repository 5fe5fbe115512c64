/* SPDX-License-Identifier: Apache-2.0 */
/* The shared buffer of a window: 64 objects of a window, four windows, 256 objects in flight. */
#include "fetchd/windows/shared.c" // NOLINT(bugprone-suspicious-include)
#include "fetchd/memory/buffer.c"  // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define WINDOWS 4u
#define OBJECTS 64u
#define USUAL   UINT64_C(20000)

static struct windows windows;
static struct fetch fetch = { .windows = &windows, .objects = true };
static struct window window[WINDOWS];
static struct shard shard[WINDOWS][OBJECTS];

static void load(struct window *one, struct shard *shards, uint64_t (*bytes_at)(uint64_t k))
{
	struct error err;

	one->shard = shards;
	one->group.shards = OBJECTS;
	for (uint64_t k = 0; k < OBJECTS; k++) {
		shards[k] = (struct shard){ .plan.bytes = bytes_at(k) };
		shards[k].slice_bytes = shared_place(bytes_at(k));
	}
	assert_int_equal(shared_divide(one, &err), 0);
}

static void begin(uint64_t most)
{
	fetch.budget = (struct budget){ .max = UINT64_C(1) << 30 };
	windows.shared_most = most;
	for (unsigned i = 0; i < WINDOWS; i++) {
		window[i] = (struct window){ 0 };
		shared_begin(&fetch, &window[i]);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		buffer_drop(&window[i].shared);
	assert_int_equal(fetch.budget.memory, 0);
}

static uint64_t usual(uint64_t k)
{
	return USUAL - k;
}

static uint64_t mixed(uint64_t k)
{
	return k % 8 ? 1 + k * 577 : SHARED_OBJECT_MAX + 1 + k;
}

static void places(void **state)
{
	(void)state;
	assert_int_equal(shared_place(0), 0);
	assert_int_equal(shared_place(1), 64);
	assert_int_equal(shared_place(64), 64);
	assert_int_equal(shared_place(65), 128);
	assert_int_equal(shared_place(SHARED_OBJECT_MAX), SHARED_OBJECT_MAX);
	assert_int_equal(shared_place(SHARED_OBJECT_MAX + 1), 0);
}

/* 256 objects of 20 KB take what they have, whatever windows are loaded after one another. */
static void memory_is_bounded(void **state)
{
	const uint8_t *place[WINDOWS];

	(void)state;
	begin(OBJECTS * shared_place(USUAL));
	assert_int_equal(fetch.budget.memory, 0); /* addresses alone */
	for (unsigned i = 0; i < WINDOWS; i++)
		place[i] = window[i].shared.output.data;
	for (unsigned n = 0; n < 100; n++) {
		load(&window[n % WINDOWS], shard[n % WINDOWS], usual);
		assert_ptr_equal(window[n % WINDOWS].shared.output.data, place[n % WINDOWS]);
	}
	assert_in_range(fetch.budget.memory, 1, WINDOWS * OBJECTS * shared_place(USUAL));
	assert_int_equal(shared_bytes(&window[0]), window[0].shared.output.capacity);
	end();
}

static void each_has_its_place(void **state)
{
	const uint8_t *at;
	uint64_t alone = 0;

	(void)state;
	begin(0);
	load(&window[0], shard[0], mixed);
	at = window[0].shared.output.data;
	for (uint64_t k = 0; k < OBJECTS; k++) {
		const struct shard *one = &shard[0][k];

		alone += one->slice_bytes == 0;
		if (!one->slice_bytes)
			continue;
		assert_ptr_equal(one->slice, at);
		assert_true(one->slice_bytes >= one->plan.bytes);
		at += one->slice_bytes;
	}
	assert_int_equal(alone, OBJECTS / 8);
	assert_true(at <= window[0].shared.output.data + window[0].shared.output.capacity);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(each_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of a second about workers and windows ahead, from accounts of what the reader waited for. */
#include "fetchd/tune.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint32_t most_ahead = AHEAD_MAX, workers_set;

uint32_t streams_ahead_max(const struct fetch *fetch, const char **ret_reason)
{
	(void)fetch;
	*ret_reason = "the limit";
	return most_ahead;
}

void work_set_workers(struct work *work, uint32_t workers)
{
	work->workers = workers_set = workers;
}

/* One second later: the reader waited for decoding, and the ring was full, so long. Returns the workers. */
static uint32_t second(struct tune *tune, uint32_t workers, uint32_t workers_max, uint64_t decoding_us,
		       uint64_t full_us)
{
	struct tune_account now = tune->last;
	uint32_t after;

	now.decoding_us += decoding_us;
	now.waited_us += decoding_us;
	now.full_us += full_us;
	after = tune_workers(tune, workers, workers_max, &now);
	tune->last = now;
	return after;
}

static void a_wait_for_decoding_adds_a_worker(void **state)
{
	struct tune tune = { .workers_least = 1 };

	(void)state;
	assert_int_equal(second(&tune, 2, 8, 0, 0), 2);
	assert_int_equal(second(&tune, 2, 8, STALLED_US, 0), 2);
	assert_int_equal(second(&tune, 2, 8, STALLED_US + 1, 0), 3);
	assert_int_equal(tune.workers_least, 3);
	assert_string_equal(tune.workers_reason, "the trainer waited for them");
	assert_int_equal(second(&tune, 8, 8, STALLED_US + 1, 0), 8);
}

static void a_wait_for_windows_adds_none(void **state)
{
	struct tune tune = { .workers_least = 1 };
	const struct tune_account now = { .arriving_us = 900000, .waited_us = 900000 };

	(void)state;
	assert_int_equal(tune_workers(&tune, 2, 8, &now), 2);
}

static void a_full_ring_lets_a_worker_rest(void **state)
{
	struct tune tune = { .workers_least = 1 };

	(void)state;
	for (uint32_t i = 1; i < CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 3, 8, 0, FULL_US + 1), 3);
	assert_int_equal(second(&tune, 3, 8, 0, FULL_US + 1), 2);
	/* The next worker rests after as many calm seconds again. */
	for (uint32_t i = 1; i < CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 2, 8, 0, FULL_US + 1), 2);
	assert_int_equal(second(&tune, 2, 8, 0, FULL_US + 1), 1);
	for (uint32_t i = 0; i < 3 * CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 1, 8, 0, FULL_US + 1), 1);
}

static void one_second_that_is_not_calm_starts_the_count_anew(void **state)
{
	struct tune tune = { .workers_least = 1 };

	(void)state;
	for (uint32_t i = 1; i < CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 3, 8, 0, FULL_US + 1), 3);
	assert_int_equal(second(&tune, 3, 8, 0, FULL_US), 3); /* not full all the time */
	for (uint32_t i = 1; i < CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 3, 8, 0, FULL_US + 1), 3);
	assert_int_equal(second(&tune, 3, 8, 1, FULL_US + 1), 3); /* a wait, however short */
	for (uint32_t i = 1; i < CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 3, 8, 0, FULL_US + 1), 3);
	assert_int_equal(second(&tune, 3, 8, 0, FULL_US + 1), 2);
}

static void never_below_what_was_needed_once(void **state)
{
	struct tune tune = { .workers_least = 1 };

	(void)state;
	assert_int_equal(second(&tune, 4, 8, STALLED_US + 1, 0), 5);
	for (uint32_t i = 0; i < 5 * CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 5, 8, 0, FULL_US + 1), 5);
}

static void windows_double_up_to_the_limit(void **state)
{
	struct tune tune = { 0 };
	const struct tune_account late = { .arriving_us = STALLED_US + 1 },
				  good = { .arriving_us = STALLED_US };
	uint32_t ahead = AHEAD_LEAST;

	(void)state;
	assert_int_equal(tune_ahead(&tune, ahead, 7, "the limit", &good), AHEAD_LEAST);
	assert_null(tune.ahead_reason);
	for (uint32_t expected = 2; expected <= 4; expected *= 2) {
		ahead = tune_ahead(&tune, ahead, 7, "the limit", &late);
		assert_int_equal(ahead, expected);
		assert_string_equal(tune.ahead_reason, "the trainer waited for windows to arrive");
	}
	ahead = tune_ahead(&tune, ahead, 7, "the limit", &late);
	assert_int_equal(ahead, 7);
	assert_string_equal(tune.ahead_reason, "the trainer waited for windows to arrive");
	assert_int_equal(tune_ahead(&tune, ahead, 7, "the limit", &late), 7);
	assert_string_equal(tune.ahead_reason, "the limit");
}

/* The limit of the memory falls below the number of windows: the number falls at once, although no stage
 * waited. */
static void windows_shrink_with_their_limit(void **state)
{
	struct tune tune = { 0 };
	const struct tune_account good = { 0 };

	(void)state;
	assert_int_equal(tune_ahead(&tune, 8, 3, "the limit", &good), 3);
	assert_string_equal(tune.ahead_reason, "the limit");
	assert_int_equal(tune_ahead(&tune, 3, 3, "the limit", &good), 3);
}

/* tune_look() sorts the stages of the account into waits for windows and waits for workers. */
static void each_stage_has_its_cause(void **state)
{
	static struct work work;
	static struct windows windows;
	static struct fetch fetch = { .work = &work, .windows = &windows };

	(void)state;
	for (int stage = 0; stage < STALL_STAGES; stage++) {
		struct stall stall = { 0 };
		struct tune tune;

		work.workers = 2;
		work.workers_max = 8;
		tune_begin(&tune, &fetch);
		assert_int_equal(windows.ahead, AHEAD_LEAST);
		stall.stalled_us[stage] = STALLED_US + 1;
		tune_look(&tune, &fetch, &stall);
		assert_int_equal(windows.ahead, stage >= STALL_CACHE && stage <= STALL_TRANSFER ? 2 : 1);
		assert_int_equal(work.workers, stage >= STALL_WORKER ? 3 : 2);
		assert_int_equal(tune.last.waited_us, STALLED_US + 1);
		/* A second look in the same second does nothing. */
		stall.stalled_us[stage] = 1000000;
		tune_look(&tune, &fetch, &stall);
		assert_int_equal(tune.last.waited_us, STALLED_US + 1);
	}
}

static void a_fixed_number_of_workers_never_shrinks(void **state)
{
	static struct work work = { .workers = 4, .workers_max = 4 };
	static struct windows windows;
	static struct fetch fetch = { .work = &work, .windows = &windows };
	struct tune tune;

	(void)state;
	fetch.run.config.fetch.decode_workers = 4;
	tune_begin(&tune, &fetch);
	for (uint32_t i = 0; i < 2 * CALM_LOOKS; i++)
		assert_int_equal(second(&tune, 4, 4, 0, FULL_US + 1), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_for_decoding_adds_a_worker),
		cmocka_unit_test(a_wait_for_windows_adds_none),
		cmocka_unit_test(a_full_ring_lets_a_worker_rest),
		cmocka_unit_test(one_second_that_is_not_calm_starts_the_count_anew),
		cmocka_unit_test(never_below_what_was_needed_once),
		cmocka_unit_test(windows_double_up_to_the_limit),
		cmocka_unit_test(windows_shrink_with_their_limit),
		cmocka_unit_test(each_stage_has_its_cause),
		cmocka_unit_test(a_fixed_number_of_workers_never_shrinks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The account of the reader's waits, on a clock of the test's own. */
#include "core/base/clock.h"

static uint64_t clock_at_us;
static uint64_t test_clock_us(void)
{
	return clock_at_us;
}
#define clock_us test_clock_us
#include "fetchd/produce/stall.c" // NOLINT(bugprone-suspicious-include): its statics
#undef clock_us
#include "fetchd/memory/buffer.c" // NOLINT(bugprone-suspicious-include)
#include "fetchd/shard/shard.c"   // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct shard shard[2];
static struct window window = { .shard = shard, .group = { .shards = 2 } }, other;
static struct window *present; /* the window that the stream has */

struct window *stream_window(struct stream *stream, struct window_id id)
{
	(void)stream;
	(void)id;
	return present;
}

static void leaves(struct shard *which, enum stall_stage stage, uint64_t at_us)
{
	atomic_store(&which->left_us[stage], at_us);
}

static uint64_t sum_of(const struct stall *stall)
{
	uint64_t sum = 0;

	for (int stage = 0; stage < STALL_STAGES; stage++)
		sum += stall->stalled_us[stage];
	return sum;
}

static int begin(void **state)
{
	(void)state;
	shard_forgets(&shard[0]);
	shard_forgets(&shard[1]);
	window.last = &shard[0];
	window.state = WINDOW_LOADING;
	present = &window;
	return 0;
}

/* The reader waits from 1000 us on, and the producer lacks a window. */
static void lack(struct stall *stall)
{
	clock_at_us = 1000;
	stall_look(stall, true);
	stall_lacks(stall, NULL, (struct window_id){ 0 });
}

static void a_wait_that_lacks_no_window_is_for_gathering(void **state)
{
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	clock_at_us = 1000;
	stall_look(&stall, false);
	assert_int_equal(sum_of(&stall), 0);
	stall_look(&stall, true);
	clock_at_us = 1700;
	stall_look(&stall, true);
	assert_int_equal(sum_of(&stall), 0);
	clock_at_us = 2000;
	stall_look(&stall, false);
	assert_int_equal(stall.stalled_us[STALL_GATHER], 1000);
	assert_int_equal(sum_of(&stall), 1000);
	clock_at_us = 5000;
	stall_look(&stall, false);
	assert_int_equal(sum_of(&stall), 1000);
}

static void in_a_run_with_pictures_it_is_for_decoding(void **state)
{
	struct stall stall = { .last = STALL_DECODE };
	struct status_fetchd page = { 0 };

	(void)state;
	clock_at_us = 1000;
	stall_look(&stall, true);
	clock_at_us = 2000;
	stall_show(&stall, false, &page);
	assert_int_equal(page.stalled, STALL_DECODE + 1);
	assert_string_equal(status_stage_name(STALL_DECODE), "decode");
	stall_look(&stall, false);
	assert_int_equal(stall.stalled_us[STALL_DECODE], 1000);
	assert_int_equal(sum_of(&stall), 1000);
}

static void each_stage_of_the_last_shard_gets_its_time(void **state)
{
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	lack(&stall);
	leaves(&shard[0], STALL_CACHE, 900);       /* before the wait */
	leaves(&shard[0], STALL_QUEUE, 1100);      /* 100 */
	leaves(&shard[0], STALL_FIRST_BYTE, 1400); /* 300; no retry, no new connection */
	leaves(&shard[0], STALL_TRANSFER, 2000);   /* 600 */
	leaves(&shard[0], STALL_WORKER, 2000);     /* 0 */
	leaves(&shard[0], STALL_PARSE, 2500);      /* 500 */
	clock_at_us = 2600;
	stall_has(&stall, &window);
	assert_int_equal(stall.stalled_us[STALL_CACHE], 0);
	assert_int_equal(stall.stalled_us[STALL_QUEUE], 100);
	assert_int_equal(stall.stalled_us[STALL_FIRST_BYTE], 300);
	assert_int_equal(stall.stalled_us[STALL_TRANSFER], 600);
	assert_int_equal(stall.stalled_us[STALL_WORKER], 0);
	assert_int_equal(stall.stalled_us[STALL_PARSE], 500);
	assert_int_equal(stall.stalled_us[STALL_GATHER], 100);
	assert_int_equal(sum_of(&stall), 1600);
	/* The rest of the wait: nothing is charged twice. */
	clock_at_us = 3000;
	stall_look(&stall, false);
	assert_int_equal(stall.stalled_us[STALL_GATHER], 500);
	assert_int_equal(sum_of(&stall), 2000);
}

/* A note of another thread may be newer than the producer's clock. */
static void a_note_after_now_is_cut(void **state)
{
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	lack(&stall);
	leaves(&shard[0], STALL_TRANSFER, 9000);
	leaves(&shard[0], STALL_PARSE, 9500);
	clock_at_us = 1500;
	stall_has(&stall, &window);
	assert_int_equal(stall.stalled_us[STALL_TRANSFER], 500);
	assert_int_equal(sum_of(&stall), 500);
	assert_int_equal(stall.since_us, 1500);
}

static void another_window_is_not_the_one_that_lacked(void **state)
{
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	lack(&stall);
	clock_at_us = 1500;
	stall_has(&stall, &other);
	assert_true(stall.lacked);
	assert_int_equal(sum_of(&stall), 0);
	present = NULL;
	stall_has(&stall, &window);
	assert_true(stall.lacked);
	present = &window;
	stall_has(&stall, &window);
	assert_false(stall.lacked);
	assert_int_equal(sum_of(&stall), 500);
}

/* The producer lacks a window in time: the reader still has slots. */
static void without_a_wait_nothing_is_charged(void **state)
{
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	clock_at_us = 1000;
	stall_look(&stall, false);
	stall_lacks(&stall, NULL, (struct window_id){ 0 });
	clock_at_us = 1500;
	stall_has(&stall, &window);
	assert_int_equal(sum_of(&stall), 0);
	assert_false(stall.lacked);
}

static void the_first_window_of_a_step_counts(void **state)
{
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	lack(&stall);
	stall_lacks(&stall, NULL, (struct window_id){ .window = 7 });
	assert_int_equal(stall.id.window, 0);
	stall_look(&stall, true);
	stall_lacks(&stall, NULL, (struct window_id){ .window = 7 });
	assert_int_equal(stall.id.window, 7);
}

static void the_status_names_the_slowest_shard(void **state)
{
	struct status_fetchd status = { 0 };
	struct stall stall = { .last = STALL_GATHER };

	(void)state;
	shard[0].plan.key = "quick";
	shard[1].plan.key = "slow";
	stall_show(&stall, false, &status);
	assert_int_equal(status.stalled, 0);
	lack(&stall);
	leaves(&shard[0], STALL_TRANSFER, 1100);
	leaves(&shard[1], STALL_FIRST_BYTE, 1100);
	clock_at_us = 1200;
	stall_show(&stall, false, &status);
	assert_int_equal(status.stalled, STALL_TRANSFER + 1);
	assert_string_equal(status.stalled_key, "slow");
	assert_int_equal(status.stalled_us[STALL_TRANSFER], 200);
	assert_int_equal(sum_of(&stall), 0); /* shown and not charged */
	leaves(&shard[1], STALL_PARSE, 1150);
	stall_show(&stall, false, &status);
	assert_int_equal(status.stalled, STALL_WORKER + 1);
	assert_string_equal(status.stalled_key, "quick");
	/* The window does not load yet: it waits for a free one. */
	present = NULL;
	stall_show(&stall, false, &status);
	assert_int_equal(status.stalled, STALL_QUEUE + 1);
	assert_string_equal(status.stalled_key, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_wait_that_lacks_no_window_is_for_gathering, begin),
		cmocka_unit_test_setup(in_a_run_with_pictures_it_is_for_decoding, begin),
		cmocka_unit_test_setup(each_stage_of_the_last_shard_gets_its_time, begin),
		cmocka_unit_test_setup(a_note_after_now_is_cut, begin),
		cmocka_unit_test_setup(another_window_is_not_the_one_that_lacked, begin),
		cmocka_unit_test_setup(without_a_wait_nothing_is_charged, begin),
		cmocka_unit_test_setup(the_first_window_of_a_step_counts, begin),
		cmocka_unit_test_setup(the_status_names_the_slowest_shard, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

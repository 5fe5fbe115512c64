/* SPDX-License-Identifier: Apache-2.0 */
/* A judgement that fails is asked for again after a pause, that of another run at once. */
#include "uploadd/asking.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "uploadd/pause.c"  // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "core/base/clock.h"
#include "core/base/paths.h"
#include "core/run/later.h"
#include "tests/unit/scratch.h"
#include <cmocka.h>

static void want(void)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	assert_int_equal(path_make(path_of(PATH_RUNS, NULL, path), &err), 0);
	assert_int_equal(later_note(LATER_JUDGE, &err), 0);
}

static void test_pauses(void **state)
{
	struct asking asking = { 0 };

	(void)state;
	want();
	asking_judgement(&asking, "r-1");
	assert_false(later_is_noted(LATER_JUDGE));
	want();
	asking_judgement(&asking, "r-1");
	assert_true(later_is_noted(LATER_JUDGE));
	asking_judgement(&asking, "r-2");
	assert_false(later_is_noted(LATER_JUDGE));
	want();
	asking.pause.next_us = clock_us();
	asking_judgement(&asking, "r-2");
	assert_false(later_is_noted(LATER_JUDGE));
	assert_int_equal(asking.pause.pause_us, 4 * UINT64_C(60000000));
}

static void test_longest_pause(void **state)
{
	struct pause pause = { 0 };

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		assert_true(pause_is_over(&pause, 1000000, 5000000));
		assert_false(pause_is_over(&pause, 1000000, 5000000));
		pause.next_us = clock_us();
	}
	assert_int_equal(pause.pause_us, 5000000);
	pause.next_us = clock_us() - 5000001;
	assert_true(pause_is_over(&pause, 1000000, 5000000));
	assert_int_equal(pause.pause_us, 2000000);
}

static void test_report(void **state)
{
	struct pause pause = { 0 };
	struct error err = { 0 };
	char path[PATH_BYTES];

	(void)state;
	asking_report(&pause);
	assert_int_equal(pause.next_us, 0);
	want();
	assert_int_equal(later_note(LATER_REPORT, &err), 0);
	asking_report(&pause);
	assert_false(later_is_noted(LATER_REPORT));
	assert_true(later_is_noted(LATER_JUDGE));
	assert_int_equal(file_exists(path_of(PATH_RUNS, "send", path), &err), 1);
	later_forget(LATER_REPORT);
	assert_int_equal(file_exists(path, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pauses, scratch_setup, scratch_teardown),
		cmocka_unit_test(test_longest_pause),
		cmocka_unit_test_setup_teardown(test_report, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("asking", tests, NULL, NULL);
}

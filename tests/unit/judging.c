/* SPDX-License-Identifier: Apache-2.0 */
/* A judgement that fails is asked for again after a pause, that of another run at once. */
#include "uploadd/judging.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "core/base/paths.h"
#include "core/run/unjudged.h"
#include "tests/unit/scratch.h"
#include <cmocka.h>

static void want(void)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	assert_int_equal(path_make(path_of(PATH_RUNS, NULL, path), &err), 0);
	assert_int_equal(unjudged_note(&err), 0);
}

static void test_pauses(void **state)
{
	struct judging judging = { 0 };

	(void)state;
	want();
	judging_ask(&judging, "r-1");
	assert_false(unjudged_is_noted());
	want();
	judging_ask(&judging, "r-1");
	assert_true(unjudged_is_noted());
	judging_ask(&judging, "r-2");
	assert_false(unjudged_is_noted());
	want();
	judging.at_us = 0;
	judging_ask(&judging, "r-2");
	assert_false(unjudged_is_noted());
	assert_int_equal(judging.pause_us, 4 * UINT64_C(60000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pauses, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("judging", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* When a slot without a trial looks for work again. */
#include "oneshot/begin/wait.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

static bool is_state(cJSON *series, const struct wait_state *before)
{
	struct error err = { 0 };

	must(series_write(series, &err), &err);
	return is_unchanged(before);
}

static void test_changes(void **state)
{
	CLEANUP(json_free) cJSON *series = create_a_series("running");
	const struct wait_state before = wait_state_now();
	cJSON *trial = series_trial(series, 0);
	struct error err = { 0 };

	(void)state;
	assert_string_equal(before.id, series_id(series));
	assert_true(is_state(series, &before));
	/* What a slot that waits writes wakes no other slot. */
	(void)series_set(series, "spent_s", cJSON_CreateNumber(7));
	(void)series_set(series, "next", cJSON_CreateString("a"));
	assert_true(is_state(series, &before));
	(void)series_set(trial, "slot", cJSON_CreateNumber(3));
	assert_false(is_state(series, &before));
	(void)series_set(trial, "slot", cJSON_CreateNumber(0));
	assert_true(is_state(series, &before));
	trial_set_state(trial, TRIAL_PARKED);
	assert_false(is_state(series, &before));
	trial_set_state(trial, TRIAL_RUNNING);
	series_set_state(series, SERIES_STOPPED);
	assert_false(is_state(series, &before));
	series_set_state(series, SERIES_RUNNING);
	assert_true(is_state(series, &before));
	must(series_give_up(series, &err), &err);
	assert_false(is_state(series, &before));
}

static void test_none(void **state)
{
	const struct wait_state before = wait_state_now();

	(void)state;
	assert_string_equal(before.id, "");
	wait_for_change(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_none, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("slot_wait", tests, NULL, NULL);
}

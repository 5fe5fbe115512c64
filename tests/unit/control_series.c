/* SPDX-License-Identifier: Apache-2.0 */
/* kiln start, kiln stop, kiln pause and kiln abandon between two trials of a series. */
#include "controld/methods/request.c"    // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/methods/run_change.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/methods/run_start.c"  // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/status/watch.c"       // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void begin_series(void)
{
	CLEANUP(json_free)
	cJSON *series = cJSON_Parse("{\"objective\":\"validation.accuracy\",\"direction\":\"max\","
				    "\"method\":\"grid\",\"config\":\"\",\"trials\":[{\"name\":\"a\","
				    "\"run\":\"\",\"state\":\"waiting\"}]}");
	struct error err = { 0 };

	if (series_create("night", series, &err) < 0)
		fail_msg("%s", err.text);
}

static int check_with(const char *params, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_Parse(params);
	struct call call = { .request = { .params = json } };
	int r = check_series(&call, err);

	assert_int_equal(call.code, r < 0 ? CONTROL_STATE : 0);
	return r;
}

static void test_start(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(check_with("{\"epochs\":3}", &err), 0);
	begin_series();
	assert_int_equal(check_with("{}", &err), 0);
	assert_int_equal(check_with("{\"adopt\":\"night-20260101-000000\"}", &err), -EPERM);
	assert_int_equal(check_with("{\"epochs\":3}", &err), -EPERM);
	assert_non_null(strstr(err.text, "is running: it goes on as it began"));
}

static void test_stop(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(not_begun(NULL, 0, &err), 0);
	begin_series();
	assert_int_equal(not_begun(NULL, -EIO, &err), -EIO);
	assert_int_equal(not_begun(NULL, 0, &err), 0);
	assert_int_equal(series_load_unfinished(&series, &err), 0);
	assert_int_equal(series_state_of(series), SERIES_STOPPED);
}

/* kiln-controld has one thread, so a change of the series that takes long must not hold it up. */
static void test_stop_while_a_trial_begins(void **state)
{
	CLEANUP(close_fd) int lock = -1;
	struct error err = { 0 };

	(void)state;
	begin_series();
	assert_int_equal(series_lock(&lock, &err), 0);
	assert_int_equal(not_begun(NULL, 0, &err), -EBUSY);
	assert_non_null(strstr(err.text, "try again"));
}

static void test_abandon(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL;
	struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(abandon_series(&call, &err), 0);
	begin_series();
	assert_int_equal(abandon_series(&call, &err), 1);
	assert_true(cJSON_IsNull(json_member(call.result, "run")));
	assert_int_equal(series_load_unfinished(&series, &err), 0);
	assert_true(series_is_given_up(series));
	cJSON_Delete(call.result);
}

/* The trial of slot 0 has ended, and another slot works. */
static void test_stop_beside(void **state)
{
	CLEANUP(run_done) struct run first = { 0 }, second = { 0 };
	CLEANUP(json_free) cJSON *result = NULL;
	struct call call = { 0 };
	struct run_want want;
	struct error err = { 0 };

	(void)state;
	begin_a_run("", &first);
	must(run_end(RUN_FAILED, "a test", &err), &err);
	must(run_archive(&err), &err);
	assert_int_equal(change_state(&call, RUN_STOPPED, &err), -EPERM);
	assert_int_equal(call.code, CONTROL_STATE);
	(void)slot_use(1);
	begin_a_run("", &second);
	(void)slot_use(0);
	call.code = 0;
	must(change_state(&call, RUN_STOPPED, &err), &err);
	result = call.result;
	(void)slot_use(1);
	must(run_want_get(&want, &err), &err);
	(void)slot_use(0);
	assert_int_equal(want.state, RUN_STOPPED);
}

/* A trial of another slot begins: no run can be asked, so the series stops, and the slot sees that. */
static void test_stop_between(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL, *result = NULL;
	struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	begin_series();
	assert_int_equal(stop_all(&call, &err), -ENOENT);
	must(series_load_unfinished(&series, &err), &err);
	(void)series_set(series, "slots", cJSON_CreateNumber(2));
	must(series_write(series, &err), &err);
	must(stop_all(&call, &err), &err);
	result = call.result;
	json_free(&series);
	must(series_load_unfinished(&series, &err), &err);
	assert_int_equal(series_state_of(series), SERIES_STOPPED);
}

static bool pauses(bool paused)
{
	CLEANUP(json_free) cJSON *series = NULL, *result = NULL;
	struct call call = { 0 };
	struct error err = { 0 };

	must(pause_all(&call, paused, &err), &err);
	result = call.result;
	assert_string_equal(series_text(result, "wanted"), paused ? "paused" : "running");
	must(series_load_unfinished(&series, &err), &err);
	return series_is_paused(series);
}

/* The same for a pause: the series is paused until a person resumes it. */
static void test_pause_between(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL;
	struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	begin_series();
	assert_int_equal(pause_all(&call, true, &err), -ENOENT);
	must(series_load_unfinished(&series, &err), &err);
	(void)series_set(series, "slots", cJSON_CreateNumber(2));
	must(series_write(series, &err), &err);
	assert_true(pauses(true));
	assert_false(pauses(false));
}

static enum run_state wanted_of(unsigned slot)
{
	struct run_want want;
	struct error err = { 0 };

	(void)slot_use(slot);
	must(run_want_get(&want, &err), &err);
	(void)slot_use(0);
	return want.state;
}

/* kiln start: paused trials of other slots go on, also where slot 0 has none, and whatever ended their night.
 */
static void test_start_after_a_pause(void **state)
{
	CLEANUP(run_done) struct run expired = { 0 }, running = { 0 };
	CLEANUP(json_free) cJSON *result = NULL;
	struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	(void)slot_use(1);
	begin_a_run("", &running);
	must(run_state_set(RUN_RUNNING, &err), &err);
	(void)slot_use(2);
	begin_a_run("", &expired);
	must(run_state_set(RUN_RUNNING, &err), &err);
	(void)slot_use(0);
	must(change_state(&call, RUN_PAUSED, &err), &err);
	result = call.result;
	(void)slot_use(2);
	must(run_state_set(RUN_EXPIRED, &err), &err);
	(void)slot_use(0);
	assert_int_equal(wanted_of(1), RUN_PAUSED);
	assert_int_equal(wanted_of(2), RUN_PAUSED);
	must(go_on_beside(&err), &err);
	assert_int_equal(wanted_of(1), RUN_RUNNING);
	assert_int_equal(wanted_of(2), RUN_RUNNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_start, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_abandon, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_stop, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_stop_between, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_pause_between, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_start_after_a_pause, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_stop_beside, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_stop_while_a_trial_begins, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests_name("control_series", tests, NULL, NULL);
}

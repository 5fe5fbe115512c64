/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the model of the current run still has to be judged. */
#include "core/base/paths.h"
#include "oneshot/promote/ask.c"     // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/promote/outcome.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

/* outcome.c asks it of winner.c. */
const char *winner_series(const struct winner *winner)
{
	return series_id(winner->series);
}

static void finish_run(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };

	begin_a_run("promote: { against = \"champion\"; };", &run);
	must(run_state_set(RUN_FINISHED, &err), &err);
}

static void note(const char *format, const char *text)
{
	struct error err = { 0 };
	char json[256];

	(void)snprintf(json, sizeof(json), format, text);
	must(run_note(json, &err), &err);
}

static void test_run(void **state)
{
	(void)state;
	assert_false(promote_is_due());
	finish_run();
	assert_true(promote_is_due());
	note("{\"promotion\": {\"outcome\": \"%s\"}}", "kept");
	assert_false(promote_is_due());
}

/* The outcome of a series is noted last, so the run's alone is not enough. */
static void test_series(void **state)
{
	CLEANUP(json_free) cJSON *series = create_a_series("finished");
	struct error err = { 0 };

	(void)state;
	series_set_state(series, SERIES_FINISHED);
	must(series_write(series, &err), &err);
	note("{\"series\": {\"id\": \"%s\"}}", series_id(series));
	assert_true(promote_is_due());
	assert_true(series_set(series, "promotion", cJSON_Parse("{\"outcome\": \"kept\"}")));
	must(series_write(series, &err), &err);
	assert_false(promote_is_due());
	assert_true(series_set(series, OUTCOME_BRANCHES_LEFT, cJSON_CreateString("")));
	must(series_write(series, &err), &err);
	assert_true(promote_is_due());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_series),
	};

	return cmocka_run_group_tests_name("promote_due", tests, scratch_setup, scratch_teardown);
}

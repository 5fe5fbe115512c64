/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a series whose trials are all parked. */
#include "core/base/paths.h"
#include "oneshot/series/end.c"   // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/series/note.c"  // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/series/spent.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

/* Begins a run and parks it. */
static void park_one(char ret_id[static RUN_ID_BYTES])
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };

	begin_a_run("", &run);
	(void)snprintf(ret_id, RUN_ID_BYTES, "%s", run.id);
	must(run_state_set(RUN_STOPPED, &err), &err);
	must(run_park(ret_id, &err), &err);
}

static cJSON *series_of(char ids[2][RUN_ID_BYTES])
{
	cJSON *series = cJSON_Parse("{\"objective\":\"validation.accuracy\",\"direction\":\"max\","
				    "\"method\":\"halving\",\"config\":\"\"}");
	cJSON *list = cJSON_AddArrayToObject(series, "trials");
	struct error err = { 0 };

	for (int i = 0; i < 2; i++) {
		cJSON *trial = cJSON_CreateObject();

		cJSON_AddItemToArray(list, trial);
		cJSON_AddStringToObject(trial, "name", i ? "b" : "a");
		cJSON_AddStringToObject(trial, "run", ids[i]);
		cJSON_AddStringToObject(trial, "state", "parked");
		(void)series_set(trial, "value", i ? cJSON_CreateNumber(0.5) : cJSON_CreateNull());
	}
	must(series_create("night", series, &err), &err);
	return series;
}

/* No trial has finished, so none wins. The box still has a current run, for status, report and power. */
static void test_nobody_wins(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL;
	CLEANUP(run_done) struct run run = { 0 };
	char ids[2][RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	park_one(ids[0]);
	park_one(ids[1]);
	series = series_of(ids);
	assert_int_equal(run_load(&run, &err), -ENOENT);
	must(end_series(series, SERIES_FINISHED, NULL, &err), &err);
	assert_string_equal(series_state_name(series_state_of(series)), "finished");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(series, "winner")));
	assert_string_equal(series_text(series_trial(series, 0), "reason"),
			    "it has no value of promote.objective");
	assert_string_equal(series_text(series_trial(series, 1), "reason"), "other trials are better");
	must(run_load(&run, &err), &err);
	assert_string_equal(run.id, ids[1]);
	assert_int_equal(run.state, RUN_PRUNED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_wins, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("series_end", tests, NULL, NULL);
}

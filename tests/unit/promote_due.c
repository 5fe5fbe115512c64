/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the model of the current run still has to be judged. */
#include "core/base/paths.h"
#include "oneshot/promote/ask.c"     // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/promote/outcome.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* outcome.c asks it of winner.c. */
const char *winner_series(const struct winner *winner)
{
	return series_id(winner->series);
}

static void must(int r, const struct error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

static void finish_run(void)
{
	static const char text[] = "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n"
				   "run: { name = \"night\"; }; promote: { against = \"champion\"; };\n";
	CLEANUP(run_done) struct run run = { 0 };
	const struct run_start start = { 0 };
	struct error err = { 0 };
	char path[128];
	bool adopted;

	(void)snprintf(path, sizeof(path), "%s/kiln.conf", root);
	must(file_write_durable(path, text, strlen(text), &err), &err);
	must(run_begin(path, "", &start, &run, &adopted, &err), &err);
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
	CLEANUP(json_free)
	cJSON *series = cJSON_Parse("{\"objective\":\"validation.accuracy\",\"direction\":\"max\","
				    "\"method\":\"grid\",\"config\":\"\",\"trials\":[{\"name\":\"a\","
				    "\"run\":\"\",\"state\":\"finished\"}]}");
	struct error err = { 0 };

	(void)state;
	must(series_create("night", series, &err), &err);
	series_set_state(series, SERIES_FINISHED);
	must(series_write(series, &err), &err);
	note("{\"series\": {\"id\": \"%s\"}}", series_id(series));
	assert_true(promote_is_due());
	assert_true(series_set(series, "promotion", cJSON_Parse("{\"outcome\": \"kept\"}")));
	must(series_write(series, &err), &err);
	assert_false(promote_is_due());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_series),
	};

	return cmocka_run_group_tests_name("promote_due", tests, scratch_setup, scratch_teardown);
}

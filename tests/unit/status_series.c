/* SPDX-License-Identifier: Apache-2.0 */
/* The series in the status object: that of the run or, between two trials, the unfinished one. */
#include "controld/status/figure.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/status/series.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

const cJSON *view_noted(const struct view *view, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(view->record, key);
}

/* Checks trial, number, next and state of the series, as text. */
static void assert_shown(const cJSON *record, const char *expected)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	const struct view view = { .record = (cJSON *)(uintptr_t)record };
	static const char *const keys[] = { "trial", "number", "next", "state" };
	char found[128] = "";

	series_add(object, &view);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(
			cJSON_GetObjectItemCaseSensitive(object, "series"), keys[i]);
		CLEANUP(free_ptr) char *text = item ? cJSON_PrintUnformatted(item) : strdup("-");

		(void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s ", text);
	}
	assert_string_equal(found, expected);
}

static void test_shown(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL, *record = NULL;
	cJSON *of;
	struct error err = { 0 };

	(void)state;
	assert_shown(NULL, "- - - - ");
	series = create_a_series("waiting");
	assert_shown(NULL, "null null null \"running\" ");
	assert_true(series_set(series, "next", cJSON_CreateString("a")));
	series_set_state(series, SERIES_STOPPED);
	must(series_write(series, &err), &err);
	assert_shown(NULL, "null 1 \"a\" \"stopped\" ");

	record = cJSON_CreateObject();
	assert_shown(record, "null 1 \"a\" \"stopped\" ");
	of = cJSON_AddObjectToObject(record, "series");
	cJSON_AddStringToObject(of, "id", series_id(series));
	cJSON_AddStringToObject(of, "trial", "a");
	cJSON_DeleteItemFromObjectCaseSensitive(series, "next");
	series_set_state(series, SERIES_FINISHED);
	must(series_write(series, &err), &err);
	assert_shown(record, "\"a\" 1 null \"finished\" ");
	assert_shown(NULL, "- - - - ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shown, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("status_series", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The series in the status object: that of the run or, between two trials, the unfinished one; and the trials
 * of other slots. */
#include "controld/status/beside.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/status/figure.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/status/series.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "controld/status/watch.c"  // NOLINT(bugprone-suspicious-include): not of a library
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

/* Writes the page of the trainer of slot 1. */
static void open_page(const char *run_id, struct status_page **ret_page)
{
	struct status status = {
		.traind = { .epoch = 1, .epochs = 4, .step = 30, .epoch_steps = 20, .loss = 0.5 }
	};
	const unsigned mine = slot_use(1);
	struct error err = { 0 };

	(void)snprintf(status.run_id, sizeof(status.run_id), "%s", run_id);
	(void)snprintf(status.phase, sizeof(status.phase), "training");
	must(status_open(STATUS_TRAIND, ret_page, &err), &err);
	status_set_degraded("failed 6 times");
	status_write(*ret_page, &status);
	status_set_degraded("");
	(void)slot_use(mine);
}

/* The page of slot 1 is that of another run, or of the trial's. */
static void test_beside(void **state)
{
	CLEANUP(json_free) cJSON *series = create_a_series("running"), *object = cJSON_CreateObject();
	CLEANUP(status_closep) struct status_page *page = NULL;
	CLEANUP(free_ptr) char *begins = NULL, *shown = NULL;
	struct error err = { 0 };
	char text[128];

	(void)state;
	assert_false(beside_goes_on());
	beside_add(object, series);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "beside")), 0);
	cJSON_DeleteItemFromObject(object, "beside");
	(void)series_set(series_trial(series, 0), "slot", cJSON_CreateNumber(1));
	(void)series_set(series_trial(series, 0), "run", cJSON_CreateString("r"));
	must(series_write(series, &err), &err);
	assert_true(beside_goes_on());
	open_page("other", &page);
	beside_add(object, series);
	begins = cJSON_PrintUnformatted(object);
	assert_string_equal(
		begins,
		"{\"beside\":[{\"slot\":1,\"trial\":\"a\",\"run\":\"r\",\"alive\":false,\"phase\":null,"
		"\"text\":null,\"epoch\":null,\"epochs\":null,\"step\":null,\"percent\":null,"
		"\"loss\":null,\"validation_loss\":null}]}");
	assert_null(beside_trouble(text, sizeof(text)));
	status_closep(&page);
	open_page("r", &page);
	cJSON_DeleteItemFromObject(object, "beside");
	beside_add(object, series);
	shown = cJSON_PrintUnformatted(object);
	assert_string_equal(shown,
			    "{\"beside\":[{\"slot\":1,\"trial\":\"a\",\"run\":\"r\",\"alive\":true,"
			    "\"phase\":\"training\",\"text\":\"\",\"epoch\":2,\"epochs\":4,\"step\":30,"
			    "\"percent\":37.5,\"loss\":0.5,\"validation_loss\":0}]}");
	assert_string_equal(beside_trouble(text, sizeof(text)), "slot 1: traind: failed 6 times");
	series_set_state(series, SERIES_STOPPED);
	must(series_write(series, &err), &err);
	assert_false(beside_goes_on());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shown, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_beside, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("status_series", tests, NULL, NULL);
}

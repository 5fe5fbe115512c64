/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/series.h"
#include "core/base/paths.h"
#include "core/series/objective.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Returns a record as kiln-oneshot begin hands it to series_create(). `trials`: JSON. */
static cJSON *make(const char *direction, const char *trials)
{
	cJSON *series = cJSON_CreateObject();

	cJSON_AddStringToObject(series, "method", "grid");
	cJSON_AddStringToObject(series, "objective", "validation.accuracy");
	cJSON_AddStringToObject(series, "direction", direction);
	cJSON_AddStringToObject(series, "config", "run: { };");
	cJSON_AddItemToObject(series, "trials", cJSON_Parse(trials));
	cJSON_AddNullToObject(series, "winner");
	return series;
}

#define TRIAL(name, state, value) \
	"{\"name\":\"" name "\",\"overrides\":{},\"run\":\"\",\"state\":\"" state "\",\"value\":" value "}"

static cJSON *create(const char *name)
{
	cJSON *series = make("max", "[" TRIAL("adam", "waiting", "null") "]");
	struct error err = { 0 };

	if (series_create(name, series, &err) < 0)
		fail_msg("%s", err.text);
	return series;
}

static void end(cJSON *series)
{
	struct error err = { 0 };

	series_set_state(series, SERIES_FINISHED);
	if (series_write(series, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_is_loaded_as_it_was_made(void **state)
{
	CLEANUP(json_free) cJSON *series = create("night"), *loaded = NULL, *unfinished = NULL;
	struct error err = { 0 };
	uint64_t started;

	(void)state;
	assert_int_equal(strncmp(series_id(series), "night-series-20", 15), 0);
	assert_int_equal(strlen(series_id(series)), strlen("night-series-YYYYMMDD-HHMMSS"));
	assert_int_equal(series_load(series_id(series), &loaded, &err), 0);
	assert_true(cJSON_Compare(series, loaded, true));
	assert_int_equal(series_state_of(loaded), SERIES_RUNNING);
	assert_int_equal(json_get_u64("series.json", loaded, "started_s", &started, &err), 0);
	assert_true(started >= (uint64_t)time(NULL) - 60);
	assert_int_equal(series_load_unfinished(&unfinished, &err), 0);
	assert_string_equal(series_id(unfinished), series_id(series));
	end(unfinished);
	cJSON_Delete(TAKE(unfinished));
	assert_int_equal(series_load_unfinished(&unfinished, &err), -ENOENT);
}

static void test_one_series_at_a_time(void **state)
{
	CLEANUP(json_free) cJSON *first = create("night"), *second = make("max", "[]"), *third = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(series_create("night", second, &err), -EBUSY);
	assert_non_null(strstr(err.text, series_id(first)));
	end(first);
	third = create("night"); /* in the same second */
	assert_string_not_equal(series_id(third), series_id(first));
}

static void put(const char *id, const char *text)
{
	struct error err = { 0 };
	char path[PATH_BYTES];

	if (file_write_durable(series_path(id, path), text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

/* A record that no program can read keeps no night from its series. */
static void test_a_damaged_record_is_passed_over(void **state)
{
	CLEANUP(json_free) cJSON *first = create("night"), *second = NULL, *unfinished = NULL;
	struct error err = { 0 };

	(void)state;
	end(first);
	second = create("night");
	put(series_id(first), "{");
	assert_int_equal(series_load_unfinished(&unfinished, &err), 0);
	assert_string_equal(series_id(unfinished), series_id(second));
	put(series_id(second), "{\"version\": 1}");
	cJSON_Delete(TAKE(unfinished));
	assert_int_equal(series_load_unfinished(&unfinished, &err), -ENOENT);
	cJSON_Delete(create("night"));
}

static void test_a_record_too_large_is_not_written(void **state)
{
	CLEANUP(json_free) cJSON *series = create("night"), *loaded = NULL;
	CLEANUP(free_ptr) char *text = calloc(1, SERIES_JSON_MAX + 1);
	struct error err = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, 'a', SERIES_JSON_MAX);
	(void)series_set(series, "reason", cJSON_CreateString(text));
	assert_int_equal(series_write(series, &err), -E2BIG);
	assert_int_equal(series_load(series_id(series), &loaded, &err), 0);
}

static void test_given_up(void **state)
{
	CLEANUP(json_free) cJSON *series = create("night");
	struct error err = { 0 };

	(void)state;
	assert_false(series_is_given_up(series));
	for (int i = 0; i < 2; i++)
		assert_int_equal(series_give_up(series, &err), 0);
	assert_true(series_is_given_up(series));
}

static bool slots_are_asked_for(void)
{
	char path[PATH_BYTES];
	const bool asked = file_exists(path_of(PATH_RUNS, SERIES_START_FILE, path), NULL) > 0;

	(void)unlink(path);
	return asked;
}

static void test_the_other_slots_are_asked_for(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL, *found = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(series_ask_slots_again(&err), 0);
	assert_false(slots_are_asked_for());
	series = create("night");
	series_set_state(series, SERIES_STOPPED);
	assert_int_equal(series_write(series, &err), 0);
	assert_int_equal(series_ask_slots_again(&err), 0);
	assert_false(slots_are_asked_for());
	(void)series_set(series, "slots", cJSON_CreateNumber(2));
	assert_int_equal(series_write(series, &err), 0);
	assert_int_equal(series_ask_slots_again(&err), 0);
	assert_true(slots_are_asked_for());
	assert_int_equal(series_load_unfinished(&found, &err), 0);
	assert_int_equal(series_state_of(found), SERIES_RUNNING);
}

static void test_the_newest_are_kept(void **state)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	char first[RUN_ID_BYTES], last[RUN_ID_BYTES];
	struct error err = { 0 };
	uint32_t count = 0;

	(void)state;
	for (unsigned i = 0; i < SERIES_KEPT_MAX + 2; i++) {
		CLEANUP(json_free) cJSON *series = NULL;
		char name[16];

		(void)snprintf(name, sizeof(name), "n%02u", i);
		series = create(name);
		(void)snprintf(i == 0 ? first : last, sizeof(first), "%s", series_id(series));
		end(series);
	}
	assert_int_equal(series_list(&ids, &count, &err), 0);
	assert_int_equal(count, SERIES_KEPT_MAX);
	assert_string_equal(ids[count - 1], last);
	for (uint32_t i = 0; i < count; i++)
		assert_string_not_equal(ids[i], first);
}

static void test_bad_records(void **state)
{
	static const struct {
		const char *from, *to, *expected;
	} cases[] = {
		{ "\"version\":1", "\"version\":2", "version 2" },
		{ "\"state\":\"running\"", "\"state\":\"asleep\"", "asleep" },
		{ "\"state\":\"waiting\"", "\"state\":\"lost\"", "lost" },
		{ "validation.accuracy", "validation.f1", "validation.f1" },
		{ "\"id\":\"n", "\"id\":\"../n", "../n" },
		{ "\"trials\":[", "\"trial\":[", "a list of trials" },
		{ "\"run\":\"\",", "", "run" },
		{ "\"config\":", "\"conf\":", "config" },
	};
	CLEANUP(json_free) cJSON *series = create("n");
	CLEANUP(free_ptr) char *text = cJSON_PrintUnformatted(series);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *parsed = NULL;
		const char *at = strstr(text, cases[i].from);
		char bad[2048];
		struct error err = { 0 };
		int bytes;

		assert_non_null(at);
		bytes = snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - text), text, cases[i].to,
				 at + strlen(cases[i].from));
		assert_int_equal(series_parse("it", bad, (uint64_t)bytes, &parsed, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].expected))
			fail_msg("%s: expected %s", err.text, cases[i].expected);
	}
	assert_int_equal(series_load("../n-20250101-000000", &(cJSON *){ NULL }, &(struct error){ 0 }),
			 -ENOENT);
}

static void test_the_best_trial(void **state)
{
	static const struct {
		const char *label, *direction, *trials;
		int best, winner;
	} cases[] = {
		{ "none has a value", "max", "[" TRIAL("a", "finished", "null") "]", -1, -1 },
		{ "the largest", "max",
		  "[" TRIAL("a", "finished", "0.5") "," TRIAL("b", "finished", "0.7") "]", 1, 1 },
		{ "the smallest", "min",
		  "[" TRIAL("a", "finished", "0.5") "," TRIAL("b", "finished", "0.7") "]", 0, 0 },
		{ "of equal ones the earlier", "max",
		  "[" TRIAL("a", "finished", "0.5") "," TRIAL("b", "finished", "0.5") "]", 0, 0 },
		{ "a NaN, which JSON has as null, loses", "min",
		  "[" TRIAL("a", "finished", "null") "," TRIAL("b", "finished", "9") "]", 1, 1 },
		{ "a failed trial does not count", "max",
		  "[" TRIAL("a", "failed", "0.9") "," TRIAL("b", "finished", "0.1") "]", 1, 1 },
		{ "one without a model does not win", "max",
		  "[" TRIAL("a", "pruned", "0.9") "," TRIAL("b", "finished", "0.1") "]", 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *series = make(cases[i].direction, cases[i].trials);

		if (series_best(series, false) != cases[i].best ||
		    series_best(series, true) != cases[i].winner)
			fail_msg("%s", cases[i].label);
	}
}

static void test_summary(void **state)
{
	CLEANUP(json_free)
	cJSON *series = make("max", "[" TRIAL("a", "finished", "0.5") "," TRIAL(
					    "b", "running", "0.7") "," TRIAL("c", "waiting", "null") "]");
	CLEANUP(json_free) cJSON *row = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(series_create("n", series, &err), 0);
	row = series_summary(series);
	assert_string_equal(json_member(row, "id")->valuestring, series_id(series));
	assert_int_equal(json_member(row, "trials")->valueint, 3);
	assert_int_equal(json_member(row, "finished")->valueint, 1);
	assert_int_equal(json_member(row, "waiting")->valueint, 1);
	assert_int_equal(json_member(row, "pruned")->valueint, 0);
	assert_string_equal(json_member(row, "now")->valuestring, "b");
	assert_string_equal(json_member(row, "best")->valuestring, "b");
	assert_true(json_member(row, "best_value")->valuedouble == 0.7);
	assert_true(cJSON_IsNull(json_member(row, "winner")));
	assert_int_equal(series_find_trial(series, "c"), 2);
	assert_int_equal(series_find_trial(series, "d"), -1);
	assert_int_equal(series_find_run(series, ""), -1);
}

static void test_objective(void **state)
{
	static const char record[] =
		"{\"epochs\":[{\"epoch\":0,\"loss\":3,\"validation_accuracy\":0.5},{\"epoch\":1,\"loss\":1,"
		"\"validation_accuracy\":0.9},{\"epoch\":2,\"loss\":2,\"validation_accuracy\":null}],"
		"\"metrics\":{\"test\":{\"loss\":4,\"rows\":2}}}";
	static const struct {
		const char *name;
		uint64_t epochs;
		double value; /* NAN: there is none */
		uint64_t epoch;
	} cases[] = {
		{ "train.loss", 0, 1, 2 },
		{ "train.loss", 1, 3, 1 },
		{ "validation.accuracy", 0, 0.9, 2 },
		{ "validation.accuracy", 1, 0.5, 1 },
		{ "validation.loss", 0, NAN, 0 },
		{ "test.loss", 0, 4, 0 },
		{ "test.accuracy", 0, NAN, 0 },
	};
	CLEANUP(json_free) cJSON *json = cJSON_Parse(record);
	struct objective objective;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double value = NAN;
		uint64_t epoch = 0;

		assert_true(objective_find(cases[i].name, &objective));
		assert_int_equal(objective_best(&objective, json, cases[i].epochs, &value, &epoch),
				 !isnan(cases[i].value));
		if (!isnan(cases[i].value))
			assert_true(value == cases[i].value);
		assert_int_equal(epoch, cases[i].epoch);
	}
	assert_false(objective_find("", &objective));
	assert_false(objective_find("f1", &objective));
}

/* Of many epochs the curve has OBJECTIVE_POINTS_MAX, from the first to the last. */
static void test_objective_curve(void **state)
{
	CLEANUP(json_free)
	cJSON *record = cJSON_Parse("{\"epochs\":[{\"epoch\":0,\"loss\":0.123456789},"
				    "{\"epoch\":1},{\"epoch\":2,\"loss\":2}]}");
	CLEANUP(json_free) cJSON *curve = NULL, *many = NULL, *none = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	struct objective objective;
	cJSON *epochs = cJSON_GetObjectItem(record, "epochs");

	(void)state;
	assert_true(objective_find("train.loss", &objective));
	curve = objective_curve(&objective, record);
	text = cJSON_PrintUnformatted(curve);
	assert_string_equal(text, "[[1,0.123457],[2,null],[3,2]]");
	for (int i = 3; i < 1000; i++)
		assert_true(cJSON_AddItemToArray(epochs, cJSON_CreateObject()));
	many = objective_curve(&objective, record);
	assert_int_equal(cJSON_GetArraySize(many), OBJECTIVE_POINTS_MAX);
	assert_true(cJSON_GetArrayItem(cJSON_GetArrayItem(many, 0), 0)->valuedouble == 1);
	assert_true(cJSON_GetArrayItem(cJSON_GetArrayItem(many, OBJECTIVE_POINTS_MAX - 1), 0)->valuedouble ==
		    1000);
	assert_true(objective_find("test.loss", &objective));
	none = objective_curve(&objective, record);
	assert_int_equal(cJSON_GetArraySize(none), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_is_loaded_as_it_was_made),
		TEST(test_one_series_at_a_time),
		TEST(test_a_damaged_record_is_passed_over),
		TEST(test_a_record_too_large_is_not_written),
		TEST(test_given_up),
		TEST(test_the_other_slots_are_asked_for),
		TEST(test_the_newest_are_kept),
		TEST(test_bad_records),
		TEST(test_the_best_trial),
		TEST(test_summary),
		TEST(test_objective),
		TEST(test_objective_curve),
	};

	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/tonight.h"

#include "core/base/paths.h"
#include "core/series/series.h"
#include "tests/unit/scratch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct tonight get(void)
{
	struct tonight tonight;
	struct error err;

	if (tonight_get(&tonight, &err) < 0)
		fail_msg("%s", err.text);
	return tonight;
}

static void begin_run(struct run *ret_run)
{
	static const char text[] = "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n";
	char path[PATH_BYTES];
	struct error err;
	bool adopted;

	(void)snprintf(path, sizeof(path), "%s/kiln.conf", root);
	assert_int_equal(file_write_durable(path, text, strlen(text), &err), 0);
	if (run_begin(path, "", NULL, ret_run, &adopted, &err) < 0)
		fail_msg("%s", err.text);
}

/* Checks the only night that is over and has no report. */
static void assert_over(int64_t from_s, const char *run_id, const char *reason)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	char id[REPORT_ID_BYTES];
	struct tonight night;
	struct error err;
	uint32_t count;

	assert_int_equal(report_list("night", &ids, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_string_equal(ids[0], report_id(from_s, id));
	if (tonight_load_over(id, &night, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(night.from_s, from_s);
	assert_true(night.over_s >= from_s && night.over_s <= time(NULL));
	assert_string_equal(night.run_id, run_id);
	assert_string_equal(night.reason, reason);
	assert_int_equal(tonight_reported(id, &err), 0);
	assert_int_equal(tonight_load_over(id, &night, &err), -ENOENT);
}

static void assert_none_is_over(void)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	struct error err;
	uint32_t count;

	assert_int_equal(report_list("night", &ids, &count, &err), 0);
	assert_int_equal(count, 0);
}

static void test_begin_and_end(void **state)
{
	struct tonight tonight;
	struct error err;
	int64_t before = time(NULL);

	(void)state;
	assert_int_equal(tonight_get(&tonight, &err), -ENOENT);
	assert_int_equal(tonight_begin(true, &err), 0);
	tonight = get();
	assert_true(tonight.by_timer && tonight.from_s >= before && tonight.from_s <= time(NULL));
	assert_string_equal(tonight.run_id, "");
	assert_string_equal(tonight.reason, "");
	assert_false(tonight.before_boot);
	/* the end of another night changes nothing */
	assert_int_equal(tonight_end(tonight.from_s - 1, &err), 0);
	assert_int_equal(get().from_s, tonight.from_s);
	assert_int_equal(tonight_end(tonight.from_s, &err), 0);
	before = tonight.from_s;
	assert_int_equal(tonight_get(&tonight, &err), -ENOENT);
	assert_over(before, "", "");
	assert_int_equal(tonight_end(before, &err), 0);
	assert_none_is_over();
}

static void put(const char *text)
{
	char path[PATH_BYTES];
	struct error err;

	assert_int_equal(path_make(path_of(PATH_RUNS, NULL, path), &err), 0);
	(void)path_of(PATH_RUNS, "tonight.json", path);
	assert_int_equal(file_write_durable(path, text, strlen(text), &err), 0);
}

/* A start by hand during the timer's night belongs to this night. */
static void test_by_hand(void **state)
{
	static const char earlier[] =
		"{\"from_s\": 1000, \"by\": \"timer\", \"run\": \"a\", \"reason\": \"b\"}\n";
	struct tonight tonight;
	struct error err;

	(void)state;
	assert_int_equal(tonight_begin(true, &err), 0);
	put(earlier);
	assert_int_equal(tonight_begin(false, &err), 0);
	tonight = get();
	assert_false(tonight.by_timer);
	assert_int_equal(tonight.from_s, 1000);
	assert_string_equal(tonight.run_id, "a");
	assert_string_equal(tonight.reason, "");
	assert_none_is_over();
}

/* A start by the timer begins another night, and the night that it ends is not lost; the same holds for a
 * start by hand after a run has ended. */
static void test_next(void **state)
{
	static const char earlier[] =
		"{\"from_s\": 1000, \"by\": \"timer\", \"run\": \"a\", \"reason\": \"b\"}\n";
	CLEANUP(run_done) struct run run = { 0 };
	struct error err;
	int64_t from_s;

	(void)state;
	put(earlier);
	assert_true(get().before_boot);
	assert_int_equal(tonight_begin(true, &err), 0);
	assert_true(get().by_timer && get().from_s > 1000);
	assert_string_equal(get().run_id, "");
	assert_over(1000, "a", "b");
	put(earlier);
	begin_run(&run); /* a run of this night */
	assert_int_equal(tonight_begin(false, &err), 0);
	from_s = get().from_s;
	assert_int_equal(from_s, 1000); /* the night goes on */
	assert_int_equal(run_state_set(RUN_FINISHED, &err), 0);
	assert_int_equal(tonight_begin(false, &err), 0);
	assert_true(get().from_s > 1000);
	assert_over(1000, run.id, "");
}

/* Simulates a power cut after the end of the night was noted, and before the file was moved. */
static void test_cut_at_the_end(void **state)
{
	static const char over[] = "{\"from_s\": 1000, \"over_s\": 2000, \"boot\": \"\", \"by\": \"hand\","
				   " \"run\": \"a\", \"reason\": \"b\"}\n";
	struct tonight tonight;
	struct error err;

	(void)state;
	put(over);
	assert_int_equal(tonight_get(&tonight, &err), -ENOENT);
	assert_int_equal(tonight_end(1000, &err), 0);
	assert_over(1000, "a", "b");
	put(over);
	assert_int_equal(tonight_settle(&err), 0);
	assert_over(1000, "a", "b");
	assert_int_equal(tonight_settle(&err), 0);
	put(over);
	assert_int_equal(tonight_begin(false, &err), 0);
	assert_over(1000, "a", "b");
	put(over);
	assert_int_equal(tonight_say("c", &err), 0);
	assert_string_equal(get().reason, "c");
	assert_int_equal(tonight_settle(&err), 0);
	assert_string_equal(get().reason, "c");
	assert_over(1000, "a", "b");
}

static void test_reason(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(tonight_say("no \"store\"\n", &err), 0);
	assert_false(get().by_timer);
	assert_int_equal(tonight_begin(true, &err), 0);
	assert_int_equal(tonight_say("first", &err), 0);
	assert_int_equal(tonight_say("second", &err), 0);
	assert_true(get().by_timer);
	assert_string_equal(get().reason, "second");
}

static void test_run(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct tonight tonight;
	struct error err;

	(void)state;
	begin_run(&run);
	assert_int_equal(tonight_begin(true, &err), 0);
	tonight = get();
	assert_string_equal(tonight.run_id, run.id);
	tonight.from_s = run.started_s + 10;
	assert_true(tonight_has(&tonight, &run)); /* the night goes on with this run */
	*tonight.run_id = '\0';
	assert_false(tonight_has(&tonight, &run)); /* a run of another night */
	tonight.from_s = run.started_s;
	assert_true(tonight_has(&tonight, &run));
	assert_int_equal(run_state_set(RUN_FINISHED, &err), 0);
	tonight = get();
	assert_int_equal(tonight_end(tonight.from_s, &err), 0);
	assert_over(tonight.from_s, run.id, "");
	assert_int_equal(tonight_begin(true, &err), 0);
	assert_string_equal(get().run_id, "");
}

/* A series that worked in a night that was asked for at `since_s`; the current run is one of its trials. */
static void begin_series(int64_t since_s)
{
	CLEANUP(json_free)
	cJSON *series = cJSON_Parse("{\"objective\":\"validation.accuracy\",\"direction\":\"max\","
				    "\"method\":\"grid\",\"config\":\"\",\"trials\":[{\"name\":\"a\","
				    "\"run\":\"\",\"state\":\"waiting\"}]}");
	char note[RUN_ID_BYTES + 64];
	struct error err;

	(void)series_set(series, "since_s", cJSON_CreateNumber((double)since_s));
	if (series_create("night", series, &err) < 0)
		fail_msg("%s", err.text);
	(void)snprintf(note, sizeof(note), "{\"series\": {\"id\": \"%s\"}}", series_id(series));
	assert_int_equal(run_note(note, &err), 0);
}

/* Checks which run a night has that begins at `from_s`, and ends. */
static void assert_run_of_night(int64_t from_s, const char *run_id)
{
	char id[REPORT_ID_BYTES], text[128];
	struct tonight night;
	struct error err;

	(void)snprintf(text, sizeof(text),
		       "{\"from_s\": %lld, \"by\": \"hand\", \"run\": \"\", \"reason\": \"\"}",
		       (long long)from_s);
	put(text);
	assert_int_equal(tonight_end(from_s, &err), 0);
	assert_int_equal(tonight_load_over(report_id(from_s, id), &night, &err), 0);
	assert_string_equal(night.run_id, run_id);
	assert_int_equal(tonight_reported(id, &err), 0);
}

static void test_series(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *series = NULL;
	struct error err;
	int64_t from_s;

	(void)state;
	begin_run(&run);
	assert_int_equal(run_end(RUN_FAILED, "a test", &err), 0);
	put("{\"from_s\": 100, \"by\": \"hand\", \"run\": \"\", \"reason\": \"\"}");
	begin_series(100);
	assert_int_equal(tonight_begin(false, &err), 0);
	assert_int_equal(get().from_s, 100); /* another trial follows: the night goes on */
	assert_int_equal(series_load_unfinished(&series, &err), 0);
	series_set_state(series, SERIES_FINISHED);
	assert_int_equal(series_write(series, &err), 0);
	assert_int_equal(tonight_begin(false, &err), 0);
	assert_over(100, run.id, "");
	/* The winner has trained in an earlier night. */
	from_s = run.started_s + 50;
	(void)series_set(series, "since_s", cJSON_CreateNumber((double)from_s + 1));
	assert_int_equal(series_write(series, &err), 0);
	assert_run_of_night(from_s, run.id);
	(void)series_set(series, "since_s", cJSON_CreateNumber((double)from_s - 1));
	assert_int_equal(series_write(series, &err), 0);
	assert_run_of_night(from_s, "");
}

/* The trial of slot 0 is parked, so there is no current run. */
static void test_series_without_a_run(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *series = NULL;
	char id[REPORT_ID_BYTES];
	struct tonight night;
	struct error err;

	(void)state;
	begin_run(&run);
	begin_series(200);
	assert_int_equal(run_park(run.id, &err), 0);
	assert_int_equal(series_load_unfinished(&series, &err), 0);
	for (int64_t from_s = 200; from_s <= 201; from_s++) {
		char text[128];

		(void)snprintf(text, sizeof(text),
			       "{\"from_s\": %lld, \"by\": \"timer\", \"run\": \"\", \"reason\": \"\"}",
			       (long long)from_s);
		put(text);
		assert_int_equal(tonight_end(from_s, &err), 0);
		assert_int_equal(tonight_load_over(report_id(from_s, id), &night, &err), 0);
		assert_string_equal(night.run_id, "");
		assert_string_equal(night.series_id, from_s == 200 ? series_id(series) : "");
		assert_int_equal(tonight_reported(id, &err), 0);
	}
}

static void test_damaged(void **state)
{
	static const char text[] = "{\"from_s\": 1}\n";
	struct tonight tonight;
	struct error err;

	(void)state;
	assert_int_equal(tonight_begin(true, &err), 0);
	put(text);
	assert_int_equal(tonight_get(&tonight, &err), -EBADMSG);
	if (!strstr(err.text, "tonight.json") || !strstr(err.text, "by"))
		fail_msg("found \"%s\"", err.text);
	assert_int_equal(tonight_end(1, &err), -EBADMSG);
	assert_int_equal(tonight_get(&tonight, &err), -ENOENT);
	assert_int_equal(tonight_begin(true, &err), 0);
	put(text);
	assert_int_equal(tonight_begin(true, &err), 0);
	assert_true(get().by_timer);
}

static void *many_times(void *failed)
{
	struct error err;
	bool good = true;

	for (int i = 0; good && i < 50; i++)
		good = tonight_begin(false, &err) == 0 && tonight_say("why", &err) == 0 &&
		       tonight_end(time(NULL), &err) == 0;
	if (!good)
		(void)snprintf(failed, sizeof(err.text), "%s", err.text);
	return NULL;
}

/* Several threads begin and end nights at once, as when a person starts a night while the run before ends. */
static void test_at_once(void **state)
{
	pthread_t thread[3];
	char failed[3][sizeof(((struct error *)NULL)->text)] = { "" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, many_times, failed[i]), 0);
	for (size_t i = 0; i < 3; i++) {
		(void)pthread_join(thread[i], NULL);
		assert_string_equal(failed[i], "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_begin_and_end, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_by_hand, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_next, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_cut_at_the_end, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_reason, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_run, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_series, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_series_without_a_run, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_at_once, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parked and pruned runs. Each change is also killed at every system call (tests/unit/killed.h). */
#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "core/run/spool.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "killed.h"

static char id[RUN_ID_BYTES]; /* the run of the test */

static void put(const char *path, const char *text)
{
	struct error err = { 0 };

	if (file_write_durable(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void begin(const char *name, const cJSON *members, char ret_id[static RUN_ID_BYTES])
{
	static const char format[] = "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n"
				     "run: { name = \"%s\"; };\n";
	CLEANUP(run_done) struct run run = { 0 };
	const struct run_start start = { .members = members };
	char path[128], text[256];
	struct error err = { 0 };
	bool adopted;

	(void)snprintf(path, sizeof(path), "%s/kiln.conf", root);
	(void)snprintf(text, sizeof(text), format, name);
	put(path, text);
	if (run_begin(path, "", &start, &run, &adopted, &err) < 0)
		fail_msg("%s", err.text);
	assert_false(adopted);
	(void)snprintf(ret_id, RUN_ID_BYTES, "%s", run.id);
}

static int setup(void **state)
{
	CLEANUP(json_free)
	cJSON *members = cJSON_Parse("{\"series\":{\"id\":\"s\",\"trial\":\"a\"},\"rest_after_epoch\":2}");
	char path[PATH_BYTES];

	if (scratch_setup(state))
		return -1;
	begin("night", members, id);
	put(path_of(PATH_RUN, "plan", path), "the plan");
	return 0;
}

static void expect_current(enum run_state state, uint64_t rest_after_epoch)
{
	CLEANUP(run_done) struct run run = { 0 };
	char path[PATH_BYTES];
	struct error err = { 0 };

	if (run_load(&run, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(run.id, id);
	assert_int_equal(run.state, state);
	assert_int_equal(run.rest_after_epoch, rest_after_epoch);
	assert_int_equal(access(path_of(PATH_RUN, "plan", path), F_OK), 0);
}

static void must(int r, const struct error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

static void test_comes_back_with_all_its_files(void **state)
{
	CLEANUP(run_done) struct run none = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	struct error err = { 0 };

	(void)state;
	expect_current(RUN_RUNNING, 2);
	must(run_record(&record, &err), &err);
	assert_string_equal(json_member(record, "series.trial")->valuestring, "a");
	must(run_state_set(RUN_STOPPED, &err), &err);
	must(run_rest(&err), &err);
	for (int i = 0; i < 2; i++)
		must(run_park(id, &err), &err);
	assert_true(run_is_parked(id));
	assert_int_equal(run_load(&none, &err), -ENOENT);
	for (int i = 0; i < 2; i++)
		must(run_unpark(id, 6, &err), &err);
	assert_false(run_is_parked(id));
	expect_current(RUN_STOPPED, 6);
	assert_int_equal(access(path_of(PATH_RUN, RUN_REST_FILE, (char[PATH_BYTES]){ 0 }), F_OK), -1);
	must(run_unpark(id, 0, &err), &err);
	expect_current(RUN_STOPPED, 0);
}

/* Another trial runs between, and its final record is in the archive or not yet. */
static void test_another_run_between(void **state)
{
	struct error err = { 0 };
	char other[RUN_ID_BYTES];

	(void)state;
	must(run_park(id, &err), &err);
	begin("night", NULL, other); /* in the same second */
	assert_string_not_equal(other, id);
	assert_int_equal(run_unpark(id, 4, &err), -EBUSY);
	must(run_state_set(RUN_FINISHED, &err), &err);
	assert_int_equal(run_unpark(id, 4, &err), -EBUSY);
	must(run_archive(&err), &err);
	assert_int_equal(run_park(other, &err), -EPERM);
	must(run_unpark(id, 4, &err), &err);
	expect_current(RUN_RUNNING, 4);
	assert_int_equal(run_unpark("night-20200101-000000", 0, &err), -ENOENT);
	assert_int_equal(run_park("night-20200101-000000", &err), -ENOENT);
	assert_int_equal(run_prune("night-20200101-000000", "", &err), -ENOENT);
	assert_false(run_is_parked("../current"));
}

static void expect_pruned(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	must(run_load_archived(id, &run, &err), &err);
	assert_int_equal(run.state, RUN_PRUNED);
	assert_true(run_state_is_final(run.state));
	must(run_json_archived(id, &text, &err), &err);
	assert_non_null(strstr(text, "others are better"));
	assert_non_null(strstr(text, "\"pruned\""));
}

static int prune(struct error *err)
{
	return run_prune(id, "others are better", err);
}

static void test_pruned(void **state)
{
	struct error err = { 0 };

	(void)state;
	must(run_park(id, &err), &err);
	for (int i = 0; i < 2; i++)
		must(prune(&err), &err);
	expect_pruned();
}

/* A parked record that no program can read does not stay parked, and nothing of it is lost. */
static void test_a_damaged_record_is_set_aside(void **state)
{
	struct error err = { 0 };
	char path[PATH_BYTES], command[PATH_BYTES + 64];

	(void)state;
	must(run_park(id, &err), &err);
	(void)snprintf(command, sizeof(command), "parked/%s/run.json", id);
	put(path_of(PATH_RUNS, command, path), "{");
	must(prune(&err), &err);
	assert_false(run_is_parked(id));
	(void)snprintf(command, sizeof(command), "test -e %s/damaged-record-*/plan",
		       path_of(PATH_RUNS, NULL, path));
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the path is ours
	assert_int_equal(prune(&err), -ENOENT);
}

static void test_the_current_run_is_pruned(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++)
		must(prune(&err), &err);
	expect_pruned();
	expect_current(RUN_PRUNED, 2);
}

static void test_a_finished_run_is_not_pruned(void **state)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	(void)state;
	must(run_state_set(RUN_FINISHED, &err), &err);
	assert_int_equal(prune(&err), -EPERM);
	must(run_json(&text, &err), &err);
	assert_null(strstr(text, "others are better"));
}

/* The archive keeps the record of a run while the spool has its files. */
static void test_archive_keeps_what_is_not_uploaded(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	char other[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	must(spool_make(id, &err), &err);
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX + 2; i++) {
		must(run_state_set(RUN_FINISHED, &err), &err);
		begin("night", NULL, other);
	}
	assert_int_equal(run_load_archived(id, &run, &err), 0);
}

static void set_age(const char *run_id, time_t at_s)
{
	const struct timespec times[2] = { { .tv_sec = at_s }, { .tv_sec = at_s } };
	char path[PATH_BYTES];

	assert_int_equal(utimensat(AT_FDCWD, path_of(PATH_ARCHIVE, run_id, path), times, 0), 0);
}

/* More runs than the archive keeps: one of the oldest stays where it is asked for. */
static void test_archive_keeps_what_it_is_asked_to(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };
	char other[RUN_ID_BYTES], gone[RUN_ID_BYTES] = "";

	(void)state;
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX + 2; i++) {
		must(run_state_set(RUN_FINISHED, &err), &err);
		must(run_archive(&err), &err);
		set_age(i ? other : id, i);
		if (i == 1)
			memcpy(gone, other, sizeof(gone));
		must(run_keep(id, &err), &err);
		begin(i ? "night" : "gone", NULL, other); /* no later run takes this id */
	}
	assert_int_equal(run_load_archived(id, &run, &err), 0);
	assert_int_equal(run_keep(gone, &err), -ENOENT);
	assert_int_equal(run_keep("../current", &err), -ENOENT);
}

/* ---- Killed ---- */

static int park(struct error *err)
{
	return run_park(id, err);
}

static int unpark(struct error *err)
{
	return run_unpark(id, 6, err);
}

/* Kills `change` at each system call, repeats it whole, and checks the outcome. */
static void check_everywhere(int (*prepare)(struct error *err), int (*change)(struct error *err),
			     void (*check)(void))
{
	bool killed = true;
	unsigned call = 0;

	for (; killed && call < KILLED_CALLS_MAX; call++) {
		struct error err = { 0 };

		if (call > 0) {
			assert_int_equal(scratch_teardown(NULL), 0);
			assert_int_equal(setup(NULL), 0);
		}
		if (prepare)
			must(prepare(&err), &err);
		killed = killed_at(change, call);
		must(change(&err), &err);
		check();
	}
	assert_false(killed);
	assert_true(call > 10);
}

static void expect_parked(void)
{
	struct error err = { 0 };

	assert_true(run_is_parked(id));
	must(unpark(&err), &err);
	expect_current(RUN_RUNNING, 6);
}

static void expect_back(void)
{
	assert_false(run_is_parked(id));
	expect_current(RUN_RUNNING, 6);
}

static void test_killed(void **state)
{
	(void)state;
	check_everywhere(NULL, park, expect_parked);
	check_everywhere(park, unpark, expect_back);
	check_everywhere(park, prune, expect_pruned);
	check_everywhere(NULL, prune, expect_pruned);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_comes_back_with_all_its_files),
		TEST(test_another_run_between),
		TEST(test_pruned),
		TEST(test_a_damaged_record_is_set_aside),
		TEST(test_the_current_run_is_pruned),
		TEST(test_a_finished_run_is_not_pruned),
		TEST(test_archive_keeps_what_is_not_uploaded),
		TEST(test_archive_keeps_what_it_is_asked_to),
		TEST(test_killed),
	};

	return cmocka_run_group_tests_name("run_park", tests, NULL, NULL);
}

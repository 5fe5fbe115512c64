/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process killed at any system call of a change leaves the old run record or the new one, and the next
 * begin goes on from there. Each case is killed before every system call in turn, on a new copy of the same
 * folder.
 */
#include "core/base/paths.h"
#include "core/run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "killed.h"

#define RESTORED_ID "night-20250102-030405"

static const char config[] = "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n"
			     "run: { name = \"night\"; };\n";
static const char from_store[] =
	"{\"version\":1,\"id\":\"" RESTORED_ID "\",\"started_s\":1,\"start_run\":\"\","
	"\"plan_sha256\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"state\":"
	"\"paused\",\"config\":\"source: { url = \\\"file:///a\\\"; }; sink: { url = \\\"file:///b\\\"; "
	"};\"}";

static char base[64];               /* the folder of template/ and root/ */
static char first_id[RUN_ID_BYTES]; /* the run before the change, "" = none */
static char config_file[PATH_BYTES], plan_file[PATH_BYTES], start_file[PATH_BYTES];

static void enter(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	(void)setenv("KILN_ROOT", path, 1);
	(void)snprintf(config_file, sizeof(config_file), "%s/kiln.conf", path);
	(void)snprintf(plan_file, sizeof(plan_file), "%s/plan", path);
	(void)snprintf(start_file, sizeof(start_file), "%s/start", path);
}

static void shell(const char *format)
{
	char command[512];

	(void)snprintf(command, sizeof(command), format, base, base, base);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
}

static void put(const char *path, const char *text)
{
	struct error err = { 0 };

	if (file_write_durable(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- The changes ---- */

static int begin(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	const struct run_start start = { .run_id = first_id, .file = start_file };
	bool adopted;

	if (*first_id)
		put(start_file, "weights");
	return run_begin(config_file, "", *first_id ? &start : NULL, &run, &adopted, err);
}

static int finish(struct error *err)
{
	return run_state_set(RUN_FINISHED, err);
}

static int archive(struct error *err)
{
	return run_archive(err);
}

static int note(struct error *err)
{
	return run_note("{\"left\": 2, \"right\": 2}", err);
}

static int restore(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };

	return run_restore(from_store, strlen(from_store), plan_file, NULL, &run, err);
}

/* ---- Allowed states afterwards ---- */

/* Checks that the current record is the first one, which is final, or a new one. */
static void old_or_new(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };
	int r = run_load(&run, &err);

	if (r == -ENOENT && !*first_id)
		return;
	if (r < 0)
		fail_msg("%s", err.text);
	assert_int_equal(run.state, strcmp(run.id, first_id) == 0 ? RUN_FINISHED : RUN_RUNNING);
}

static void running_or_finished(void)
{
	enum run_state state;
	struct error err = { 0 };

	assert_int_equal(run_state_get(&state, &err), 0);
	assert_true(state == RUN_RUNNING || state == RUN_FINISHED);
}

static void both_notes_or_none(void)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	assert_int_equal(run_json(&text, &err), 0);
	assert_int_equal(strstr(text, "\"left\":\t2") != NULL, strstr(text, "\"right\":\t2") != NULL);
	assert_int_equal(strstr(text, "\"left\":\t1") != NULL, strstr(text, "\"right\":\t1") != NULL);
	assert_non_null(strstr(text, "\"left\""));
}

/* Checks that readers still find the first record as the current one, whether it is in the archive or not
 * yet. */
static void still_current(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };

	if (run_load(&run, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(run.id, first_id);
	assert_int_equal(run.state, RUN_FINISHED);
}

/* After a second kill on a later day the archive is still complete. */
static void archived_next_time(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };

	still_current();
	assert_int_equal(run_archive(&err), 0);
	assert_int_equal(run_load_archived(first_id, &run, &err), 0);
	still_current();
}

/* Checks that the record was restored with its plan. If there is no record, restores it again first. */
static void restored_or_none(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	char path[PATH_BYTES];
	struct error err = { 0 };

	if (run_load(&run, &err) == -ENOENT) {
		put(plan_file, "the plan");
		assert_int_equal(restore(&err), 0);
		assert_int_equal(run_load(&run, &err), 0);
	}
	assert_string_equal(run.id, RESTORED_ID);
	assert_int_equal(access(path_of(PATH_RUN, "plan", path), F_OK), 0);
}

/* A record leaves the archive as a whole, not file by file. */
static void archives_whole(void)
{
	char name[32], folder[PATH_BYTES], path[PATH_BYTES + 16];

	old_or_new();
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "a-%u", i);
		(void)path_of(PATH_ARCHIVE, name, folder);
		(void)snprintf(path, sizeof(path), "%s/state", folder);
		assert_int_equal(access(path, F_OK), access(folder, F_OK));
	}
}

/* The next begin works, and no record is lost: the first one is current or in the archive. */
static void next_begin_goes_on(void)
{
	CLEANUP(run_done) struct run run = { 0 }, archived = { 0 };
	char path[PATH_BYTES], link[16];
	struct error err = { 0 };

	if (begin(&err) < 0 || run_load(&run, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(run.state, RUN_RUNNING);
	if (*first_id && strcmp(run.id, first_id) != 0) {
		assert_int_equal(run_load_archived(first_id, &archived, &err), 0);
		assert_int_equal(archived.state, RUN_FINISHED);
		assert_string_equal(run.start_run, first_id);
		assert_int_equal(access(path_of(PATH_RUN, RUN_START_FILE, path), F_OK), 0);
	}
	assert_int_equal(access(path_of(PATH_RUNS, "next", path), F_OK), -1);
	assert_int_equal(readlink(path_of(PATH_RUNS, "last", path), link, sizeof(link)), -1);
	assert_int_equal(readlink(path_of(PATH_RUN, NULL, path), link, sizeof(link)), -1);
	/* No record contains files of an unfinished one. */
	assert_int_equal(access(path_of(PATH_RUN, "plan", path), F_OK),
			 strcmp(run.id, RESTORED_ID) == 0 ? 0 : -1);
}

/* ---- Killing ---- */

static void check_everywhere(int (*act)(struct error *err), void (*check)(void))
{
	unsigned call = 0;
	bool killed = true;

	for (; killed && call < KILLED_CALLS_MAX; call++) {
		shell("rm -rf %s/root && cp -a %s/template %s/root");
		killed = killed_at(act, call);
		check();
		next_begin_goes_on();
	}
	assert_false(killed);
	/* Fewer calls would mean that the change never reached the record. */
	assert_true(call > 20);
}

/* ---- The cases ---- */

static int setup(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/kiln-killed-XXXXXX");
	assert_non_null(mkdtemp(base));
	shell("mkdir %s/template");
	enter("template");
	put(config_file, config);
	put(plan_file, "the plan");
	*first_id = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shell("rm -rf %s");
	return 0;
}

static void make_record(bool final)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };

	if (begin(&err) < 0 || run_load(&run, &err) < 0 ||
	    run_note("{\"left\": 1, \"right\": 1}", &err) < 0 || (final && finish(&err) < 0))
		fail_msg("%s", err.text);
	(void)snprintf(first_id, sizeof(first_id), "%s", run.id);
}

static void test_first_begin(void **state)
{
	(void)state;
	enter("root");
	check_everywhere(begin, old_or_new);
}

static void test_begin_after_a_final_run(void **state)
{
	(void)state;
	make_record(true);
	enter("root");
	check_everywhere(begin, old_or_new);
}

/* The archive has one record more than it may keep: the oldest is removed. */
static void test_begin_with_a_full_archive(void **state)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	make_record(true);
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "a-%u", i);
		assert_int_equal(path_make(path_of(PATH_ARCHIVE, name, path), &err), 0);
	}
	shell("for i in %s/template/data/kiln/run/archive/a-*; do echo >$i/state; touch -d 2020-01-01 $i; "
	      "done");
	enter("root");
	check_everywhere(begin, archives_whole);
}

static void test_archive(void **state)
{
	(void)state;
	make_record(true);
	enter("root");
	check_everywhere(archive, still_current);
	check_everywhere(archive, archived_next_time);
}

static void test_begin_after_an_archived_run(void **state)
{
	struct error err = { 0 };

	(void)state;
	make_record(true);
	assert_int_equal(run_archive(&err), 0);
	enter("root");
	check_everywhere(begin, old_or_new);
}

static void test_state(void **state)
{
	(void)state;
	make_record(false);
	enter("root");
	check_everywhere(finish, running_or_finished);
}

static void test_note(void **state)
{
	(void)state;
	make_record(false);
	enter("root");
	check_everywhere(note, both_notes_or_none);
}

static void test_restore(void **state)
{
	(void)state;
	enter("root");
	check_everywhere(restore, restored_or_none);
}

/* Kills the restore; begin then runs without a restore, as if the store gave another answer. */
static void test_restore_then_begin(void **state)
{
	(void)state;
	enter("root");
	check_everywhere(restore, old_or_new);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_first_begin),
		TEST(test_begin_after_a_final_run),
		TEST(test_begin_with_a_full_archive),
		TEST(test_archive),
		TEST(test_begin_after_an_archived_run),
		TEST(test_state),
		TEST(test_note),
		TEST(test_restore),
		TEST(test_restore_then_begin),
	};

	return cmocka_run_group_tests_name("run_killed", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of run.list: their order, and that a record is read again only after it was replaced. */
#include "core/base/paths.h"
#include "core/run/run.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned reads;

static int counted_read(const char *id, char **ret_text, struct error *err)
{
	reads++;
	return run_json_archived(id, ret_text, err);
}

#define run_json_archived counted_read
#include "controld/status/run_rows.c" // NOLINT(bugprone-suspicious-include)

static void put(const char *id, const char *file, const char *text)
{
	char folder[PATH_BYTES], path[PATH_BYTES + 16];
	struct error err = { 0 };

	assert_int_equal(path_make(path_of(PATH_ARCHIVE, id, folder), &err), 0);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	assert_int_equal(file_write_durable(path, text, strlen(text), &err), 0);
}

static void put_run(const char *id, const char *state, const char *epochs)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "{\"version\":1,\"id\":\"%s\",\"started_s\":7,\"epochs\":%s}", id,
		       epochs);
	put(id, "run.json", text);
	put(id, "state", state);
}

static const char *text_at(const struct run_rows *rows, size_t i, const char *member)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rows->of[i].row, member));

	return text ? text : "";
}

static void test_rows(void **state)
{
	CLEANUP(run_rows_done) struct run_rows rows = { 0 };

	(void)state;
	run_rows_read(&rows);
	assert_int_equal(rows.count, 0);
	put_run("b-20260101-023000", "finished\n", "[{\"loss\":0.5,\"accuracy\":0.75}]");
	put_run("a-20260102-023000", "stopped\n", "[]");
	run_rows_read(&rows);
	assert_int_equal(rows.count, 2);
	assert_string_equal(text_at(&rows, 0, "id"), "a-20260102-023000");
	assert_string_equal(text_at(&rows, 0, "state"), "stopped");
	assert_string_equal(text_at(&rows, 1, "state"), "finished");
	assert_true(cJSON_GetObjectItemCaseSensitive(rows.of[1].row, "accuracy")->valuedouble == 0.75);
	assert_int_equal(reads, 2);
}

/* 30 runs cost 30 records to read once, not at each call. */
static void test_reads(void **state)
{
	CLEANUP(run_rows_done) struct run_rows rows = { 0 };

	(void)state;
	run_rows_read(&rows);
	reads = 0;
	run_rows_read(&rows);
	assert_int_equal(reads, 0);
	put("a-20260102-023000", "state", "finished\n");
	run_rows_read(&rows);
	assert_int_equal(reads, 1);
	assert_string_equal(text_at(&rows, 0, "state"), "finished");
	put_run("c-20260103-023000", "expired\n", "[]");
	run_rows_read(&rows);
	assert_int_equal(reads, 2);
	assert_string_equal(text_at(&rows, 0, "id"), "c-20260103-023000");
	assert_string_equal(text_at(&rows, 2, "id"), "b-20260101-023000");
}

static void test_damaged(void **state)
{
	CLEANUP(run_rows_done) struct run_rows rows = { 0 };
	char path[PATH_BYTES];

	(void)state;
	put("c-20260103-023000", "run.json", "{");
	run_rows_read(&rows);
	assert_int_equal(rows.count, 3);
	assert_non_null(strstr(text_at(&rows, 0, "error"), "run.json"));
	reads = 0;
	run_rows_read(&rows);
	assert_int_equal(reads, 1);
	path_empty(path_of(PATH_ARCHIVE, "c-20260103-023000", path));
	assert_int_equal(rmdir(path), 0);
	run_rows_read(&rows);
	assert_int_equal(rows.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("run_rows", tests, scratch_setup, scratch_teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The branches that are still to be deleted. Functions of this file answer in place of the server. Includes
 * left.c, which is in no archive.
 */
#include "drivers/versions/versions_stage.h"

static int server_open(const struct config_store *where, const struct store_options *options,
		       struct versions **ret_versions, struct error *err);
static int server_delete(struct versions *versions, const char *branch, struct error *err);

#define versions_open          server_open
#define versions_branch_delete server_delete
#include "oneshot/branches/left.c" // NOLINT(bugprone-suspicious-include): not of a library

#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char sink_url[] = "lakefs://rep/main/runs";
static const struct config config = { .sink = { .url = sink_url } };

static uint32_t asked, deleted;

static int server_open(const struct config_store *where, const struct store_options *options,
		       struct versions **ret_versions, struct error *err)
{
	(void)where;
	(void)options;
	(void)err;
	*ret_versions = NULL;
	return 0;
}

/* Has a hook that keeps the branches of trials. */
static int server_delete(struct versions *versions, const char *branch, struct error *err)
{
	(void)versions;
	asked++;
	if (strncmp(branch, "exp-", 4) == 0)
		return error_set(err, -EPERM, "a hook refuses");
	deleted++;
	return 0;
}

static bool is_noted(const char *branch)
{
	char path[PATH_BYTES];

	return file_exists(path_of_branch(branch, path), NULL) > 0;
}

static void note_trial(uint32_t number)
{
	char branch[32];

	(void)snprintf(branch, sizeof(branch), "exp-s-%u", number);
	left_note(&config.sink, branch);
}

/* Branches that stay for good block no other one. */
static void test_refusals(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		note_trial(i);
	left_note(&config.sink, "promote-r");
	left_note(&config.sink, "rollback-t-1-a");
	left_note(&config.sink, LEFT_REPORT "r-1");
	assert_int_equal(left_delete(&config, false, "promote-r", NULL), 0);
	assert_int_equal(asked, 11);
	assert_int_equal(deleted, 1);
	assert_true(is_noted("exp-s-0"));
	assert_true(is_noted("promote-r"));
	assert_false(is_noted("rollback-t-1-a"));
	assert_true(is_noted(LEFT_REPORT "r-1"));
}

static void age(const char *branch)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char path[PATH_BYTES];

	assert_int_equal(utimensat(AT_FDCWD, path_of_branch(branch, path), times, 0), 0);
}

/* A full list takes a new name for its oldest one, and a name that it has without a change. */
static void test_full(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LEFT_MAX; i++)
		note_trial(i);
	left_forget("promote-r");
	left_forget(LEFT_REPORT "r-1");
	for (uint32_t i = 0; i < LEFT_MAX; i++)
		note_trial(i);
	age("exp-s-42");
	note_trial(7);
	assert_true(is_noted("exp-s-42"));
	left_note(&config.sink, "promote-r");
	assert_true(is_noted("promote-r"));
	assert_false(is_noted("exp-s-42"));
	assert_true(is_noted("exp-s-7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests_name("left", tests, scratch_setup, scratch_teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* traind/killed.h: a trainer that is killed leaves its note, as one here that calls nothing more. */
#include "traind/killed.c" // NOLINT(bugprone-suspicious-include): a daemon is no library

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void write_file(enum path folder, const char *tail, const char *text)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	assert_int_equal(path_make(path_of(folder, NULL, path), &err), 0);
	assert_int_equal(file_write_durable(path_of(folder, tail, path), text, strlen(text), &err), 0);
}

static int begin(void **state)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	if (scratch_setup(state) != 0)
		return -1;
	write_file(PATH_RUN, "run.json", "{\"id\": \"r-1\", \"series\": {\"id\": \"s\"}}");
	write_file(PATH_RUN, "state", "running\n");
	(void)snprintf(path, sizeof(path), "%s/proc", root);
	return path_make(path, &err) < 0 || path_make(path_of(PATH_SLOT_STATUS, "traind", path), &err) < 0;
}

static void kernel_has_killed(unsigned processes)
{
	char path[PATH_BYTES], text[64];
	const int bytes = snprintf(text, sizeof(text), "oom_kill_old 9\noom_kill %u\n", processes);
	struct error err = { 0 };

	assert_int_equal(file_write_durable(path_of(PATH_VMSTAT, NULL, path), text, (uint64_t)bytes, &err),
			 0);
}

static int look(const char *run_id)
{
	struct error err = { 0 };

	return killed_look(run_id, &err);
}

static void a_trial_fails_after_a_few_kills_by_the_kernel(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (unsigned i = 0; i < KILLED_TRIES; i++) {
		kernel_has_killed(7 + i);
		assert_int_equal(look("r-1"), 0);
	}
	kernel_has_killed(7 + KILLED_TRIES);
	assert_int_equal(killed_look("r-1", &err), -EBADMSG);
	assert_string_equal(
		err.text,
		"the trial is too large: the kernel has killed its trainer 3 times for lack of memory");
}

static void a_run_without_a_series_goes_on(void **state)
{
	(void)state;
	write_file(PATH_RUN, "run.json", "{\"id\": \"r-1\"}");
	for (unsigned i = 0; i < 2 * KILLED_TRIES; i++) {
		kernel_has_killed(i);
		assert_int_equal(look("r-1"), 0);
	}
}

/* A series with two trials, of slots 0 and 1. */
static void others_train(void)
{
	CLEANUP(json_free)
	cJSON *series = cJSON_Parse("{\"objective\":\"validation.accuracy\",\"direction\":\"max\","
				    "\"method\":\"grid\",\"config\":\"\",\"slots\":2,\"trials\":["
				    "{\"name\":\"a\",\"run\":\"\",\"state\":\"running\",\"slot\":0},"
				    "{\"name\":\"b\",\"run\":\"\",\"state\":\"running\",\"slot\":1}]}");
	struct error err = { 0 };

	assert_int_equal(series_create("night", series, &err), 0);
}

static void a_trial_of_slot_0_does_not_fail_beside_others(void **state)
{
	(void)state;
	others_train();
	for (unsigned i = 0; i < 2 * KILLED_TRIES; i++) {
		kernel_has_killed(i);
		assert_int_equal(look("r-1"), 0);
	}
}

static void a_trial_of_another_slot_leaves_it(void **state)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	others_train();
	(void)slot_use(1);
	write_file(PATH_RUN, "run.json", "{\"id\": \"r-1\", \"series\": {\"id\": \"s\"}}");
	write_file(PATH_RUN, "state", "running\n");
	assert_int_equal(path_make(path_of(PATH_SLOT_STATUS, "traind", path), &err), 0);
	for (unsigned i = 0; i < KILLED_TRIES; i++) {
		kernel_has_killed(i);
		assert_int_equal(look("r-1"), 0);
	}
	kernel_has_killed(KILLED_TRIES);
	assert_int_equal(look("r-1"), -EUSERS);
	(void)slot_use(0);
}

static void kills_by_others_do_not_count(void **state)
{
	(void)state;
	kernel_has_killed(7);
	for (unsigned i = 0; i < 2 * KILLED_TRIES; i++)
		assert_int_equal(look("r-1"), 0);
}

/* The kernel kills other processes of the machine: systemd says how the trainer ended. */
static void systemd_knows_which_process_was_killed(void **state)
{
	(void)state;
	write_file(PATH_SLOT_STATUS, "traind/ended", "signal\n");
	for (unsigned i = 0; i < 2 * KILLED_TRIES; i++) {
		kernel_has_killed(i);
		assert_int_equal(look("r-1"), 0);
	}
	write_file(PATH_SLOT_STATUS, "traind/ended", "oom-kill\n");
	for (unsigned i = 1; i < KILLED_TRIES; i++)
		assert_int_equal(look("r-1"), 0);
	assert_int_equal(look("r-1"), -EBADMSG);
}

static void a_checkpoint_or_another_run_begins_the_count_anew(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * KILLED_TRIES; i++) {
		kernel_has_killed(i);
		if (i % KILLED_TRIES == 0)
			killed_forget();
		assert_int_equal(look("r-1"), 0);
	}
	for (unsigned i = 0; i < 4 * KILLED_TRIES; i++) {
		kernel_has_killed(100 + i);
		assert_int_equal(look(i % KILLED_TRIES == 0 ? "r-2" : "r-1"), 0);
	}
}

static void a_kernel_that_does_not_count_is_no_error(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * KILLED_TRIES; i++)
		assert_int_equal(look("r-1"), 0);
	write_file(PATH_SLOT_STATUS, "traind/working", "r-1 many");
	assert_int_equal(look("r-1"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_trial_fails_after_a_few_kills_by_the_kernel),
		TEST(a_run_without_a_series_goes_on),
		TEST(a_trial_of_slot_0_does_not_fail_beside_others),
		TEST(a_trial_of_another_slot_leaves_it),
		TEST(kills_by_others_do_not_count),
		TEST(systemd_knows_which_process_was_killed),
		TEST(a_checkpoint_or_another_run_begins_the_count_anew),
		TEST(a_kernel_that_does_not_count_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

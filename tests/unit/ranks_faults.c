/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of another box, counted since the newest checkpoint. */
#include "core/ranks/faults.h"

#include "core/base/paths.h"
#include "core/run/spool.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *box, uint32_t faults, int64_t step, const char *why)
{
	struct ranks_fault fault;

	ranks_fault_read("r-1", box, &fault);
	assert_int_equal(fault.faults, faults);
	assert_int_equal(fault.step, step);
	assert_string_equal(fault.why, why);
}

static void note_as(const char *box, const char *job, bool lasting, const char *why)
{
	struct error err = { 0 };

	if (ranks_fault_note("r-1", box, job, lasting, why, &err) < 0)
		fail_msg("%s", err.text);
}

static void note(const char *box, const char *job, const char *why)
{
	note_as(box, job, true, why);
}

static bool lasts(const char *box)
{
	struct ranks_fault fault;

	ranks_fault_read("r-1", box, &fault);
	return fault.lasting;
}

static void write_file(const char *path, const char *text)
{
	struct error err = { 0 };

	if (file_write_durable(path, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void counts_each_job_once(void **state)
{
	(void)state;
	check("box-2", 0, -1, "");
	note("box-2", "a-1", "no device");
	note("box-2", "a-1", "no device at all");
	check("box-2", 1, -1, "no device at all");
	note("box-2", "a-2", "line\n\"two\"");
	check("box-2", 2, -1, "line\n\"two\"");
	check("box-3", 0, -1, "");
	note("box-3", "a-2", "no plan");
	check("box-3", 1, -1, "no plan");
	check("box-2", 2, -1, "line\n\"two\"");
}

static void a_checkpoint_gives_all_tries_again(void **state)
{
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES];

	(void)state;
	write_file(spool_path("r-1", spool_checkpoint_name(0, name), path), "x");
	check("box-2", 0, 0, "");
	note("box-2", "a-3", "no device");
	check("box-2", 1, 0, "no device");
	write_file(spool_path("r-1", spool_checkpoint_name(150, name), path), "x");
	check("box-2", 0, 150, "");
	note("box-2", "a-3", "again");
	check("box-2", 1, 150, "again");
}

static void a_damaged_file_counts_as_none(void **state)
{
	static const char *const damaged[] = {
		"",
		"{",
		"[]",
		"{\"faults\": 2, \"step\": 150}",
		"{\"run\": 1, \"faults\": 2, \"step\": 150}",
		"{\"run\": \"r-2\", \"faults\": 2, \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": 0, \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": -5, \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": 2.5, \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": \"2\", \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": 1001, \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": 1e300, \"step\": 150}",
		"{\"run\": \"r-1\", \"faults\": 2, \"step\": \"150\"}",
		"{\"run\": \"r-1\", \"faults\": 2, \"step\": -5}",
		"{\"run\": \"r-1\", \"faults\": 2, \"step\": 1e300}",
		"{\"run\": \"r-1\", \"faults\": 2, \"step\": -1e300}",
	};
	char path[PATH_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		write_file(path_of(PATH_RUN, "fault-box-2.json", path), damaged[i]);
		check("box-2", 0, 150, "");
	}
	note("box-2", "a-4", "no device");
	check("box-2", 1, 150, "no device");
}

/* The count stays at its limit. */
static void a_sound_file_counts(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	write_file(path_of(PATH_RUN, "fault-box-2.json", path),
		   "{\"run\": \"r-1\", \"faults\": 1000, \"step\": 150}");
	check("box-2", 1000, 150, "");
	assert_false(lasts("box-2"));
	note("box-2", "a-5", "no device");
	check("box-2", 1000, 150, "no device");
}

static void another_run_has_none(void **state)
{
	struct ranks_fault fault;

	(void)state;
	note("box-4", "a-6", "no device");
	ranks_fault_read("r-2", "box-4", &fault);
	assert_int_equal(fault.faults, 0);
	check("box-4", 1, 150, "no device");
}

static void lasts_where_each_failure_does(void **state)
{
	struct error err = { 0 };

	(void)state;
	note_as("box-5", "a-1", true, "no device");
	assert_true(lasts("box-5"));
	note_as("box-5", "a-2", false, "no store");
	assert_false(lasts("box-5"));
	note_as("box-5", "a-3", true, "no device");
	assert_false(lasts("box-5"));
	check("box-5", 3, 150, "no device");
	assert_int_equal(ranks_fault_forget("box-5", &err), 0);
	assert_int_equal(ranks_fault_forget("box-5", &err), 0);
	check("box-5", 0, 150, "");
	note_as("box-5", "a-4", true, "no device");
	assert_true(lasts("box-5"));
}

/* 69: a store that is away. 137 and 205: orted that was killed, and orted that lost its connection. */
static void tells_which_statuses_last(void **state)
{
	static const int lasting[] = { 65, 77, 78, 126, 127 },
			 passing[] = { 0, 1, 69, 75, 125, 128, 137, 205 };

	(void)state;
	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		assert_true(ranks_fault_is_lasting(lasting[i]));
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		assert_false(ranks_fault_is_lasting(passing[i]));
}

static int setup(void **state)
{
	char path[PATH_BYTES];

	if (scratch_setup(state) != 0 || spool_make("r-1", NULL) < 0)
		return -1;
	return path_make(path_of(PATH_RUN, NULL, path), NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_each_job_once),
		cmocka_unit_test(a_checkpoint_gives_all_tries_again),
		cmocka_unit_test(a_damaged_file_counts_as_none),
		cmocka_unit_test(a_sound_file_counts),
		cmocka_unit_test(another_run_has_none),
		cmocka_unit_test(lasts_where_each_failure_does),
		cmocka_unit_test(tells_which_statuses_last),
	};

	return cmocka_run_group_tests(tests, setup, scratch_teardown);
}

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

static void note(const char *box, const char *job, const char *why)
{
	struct error err = { 0 };

	if (ranks_fault_note("r-1", box, job, why, &err) < 0)
		fail_msg("%s", err.text);
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
		"{\"faults\": -1, \"step\": 150}",
		"{\"faults\": \"2\", \"step\": 150}",
		"{\"faults\": 1e300, \"step\": 150}",
		"{\"faults\": 2, \"step\": \"150\"}",
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
	};

	return cmocka_run_group_tests(tests, setup, scratch_teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* uploadd/tracking/collect.h: which run stays open in which slot. What is collected of a run:
 * tests/system/tracking.sh. */
#include "uploadd/tracking/collect.c" // NOLINT(bugprone-suspicious-include)
#include "uploadd/tracking/about.c"   // NOLINT(bugprone-suspicious-include): not of a library
#include "uploadd/tracking/files.c"   // NOLINT(bugprone-suspicious-include)
#include "uploadd/tracking/follow.c"  // NOLINT(bugprone-suspicious-include)
#include "uploadd/tracking/journal.c" // NOLINT(bugprone-suspicious-include)

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct collectors collectors;

/* Collects a run in a slot. */
static void collect(unsigned slot, const char *id)
{
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	char folder[PATH_BYTES];
	struct run run = { .state = RUN_RUNNING };
	struct error err = { 0 };

	(void)snprintf(run.id, sizeof(run.id), "%s", id);
	run.config.tracking.url = "http://h:1";
	run.config.tracking.credential = run.config.tracking.ca_file = run.config.tracking.experiment = "";
	run.config.run.name = "t";
	run.config.sink.url = "file:///runs";
	assert_int_equal(path_make(spool_path(id, "logs/steps", folder), &err), 0);
	(void)cJSON_AddStringToObject(record, "state", "running");
	(void)slot_use(slot);
	if (collect_run(&collectors, &run, record, &err) < 0)
		fail_msg("%s", err.text);
	(void)slot_use(0);
}

static int end(void **state)
{
	collect_close(&collectors);
	return scratch_teardown(state);
}

static void a_run_stays_open_while_others_are_collected(void **state)
{
	(void)state;
	collect(0, "a");
	collect(1, "b");
	assert_string_equal(collectors.of[0].id, "a");
	assert_string_equal(collectors.of[1].id, "b");
	collect(0, "c");
	assert_string_equal(collectors.of[0].id, "c");
	assert_string_equal(collectors.of[1].id, "b");
}

static void a_run_is_open_once(void **state)
{
	(void)state;
	collect(1, "a");
	collect(0, "a");
	assert_string_equal(collectors.of[0].id, "");
	assert_string_equal(collectors.of[1].id, "a");
}

static void a_run_that_is_forgotten_is_opened_again(void **state)
{
	(void)state;
	collect(0, "a");
	collect(1, "b");
	collect_forget(&collectors, "a");
	collect_forget(&collectors, "none");
	assert_string_equal(collectors.of[0].id, "");
	assert_string_equal(collectors.of[1].id, "b");
	collect(1, "a");
	assert_string_equal(collectors.of[1].id, "a");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, end)
	const struct CMUnitTest tests[] = {
		TEST(a_run_stays_open_while_others_are_collected),
		TEST(a_run_is_open_once),
		TEST(a_run_that_is_forgotten_is_opened_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

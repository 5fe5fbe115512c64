/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tonight.h"

#include "core/paths.h"
#include "tests/unit/scratch.h"

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

static void test_begin_and_over(void **state)
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
	tonight_over();
	assert_int_equal(tonight_get(&tonight, &err), -ENOENT);
	tonight_over();
}

static void put(const char *text)
{
	char path[PATH_BYTES];
	struct error err;

	(void)path_of(PATH_RUNS, "tonight.json", path);
	assert_int_equal(file_write_durable(path, text, strlen(text), &err), 0);
}

/* Whoever starts a run by hand takes the timer's night over, from its beginning. */
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
	/* The timer's next one is another. */
	assert_int_equal(tonight_begin(true, &err), 0);
	tonight = get();
	assert_true(tonight.by_timer && tonight.from_s > 1000);
	assert_string_equal(tonight.run_id, "");
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
	assert_true(tonight_has(&tonight, &run)); /* it goes on with it */
	*tonight.run_id = '\0';
	assert_false(tonight_has(&tonight, &run)); /* that of another night */
	tonight.from_s = run.started_s;
	assert_true(tonight_has(&tonight, &run));
	assert_int_equal(run_state_set(RUN_FINISHED, &err), 0);
	tonight_over();
	assert_int_equal(tonight_begin(true, &err), 0);
	assert_string_equal(get().run_id, "");
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_begin_and_over, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_by_hand, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_reason, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_run, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

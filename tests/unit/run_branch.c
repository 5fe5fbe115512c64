/* SPDX-License-Identifier: Apache-2.0 */
/* The member "sink_branch" of run.json. */
#include "core/base/json.h"
#include "core/run/run.h"
#include "tests/unit/begun.h"

static void test_the_branch_of_a_trial(void **state)
{
	static const struct {
		const char *label, *json, *at, *from;
		int code;
	} cases[] = {
		{ "none", "{}", "", "", 0 },
		{ "one", "{\"sink_branch\": {\"name\": \"exp-s-adam\", \"from\": \"0abc\"}}", "exp-s-adam",
		  "0abc", 0 },
		{ "a path", "{\"sink_branch\": {\"name\": \"../main\", \"from\": \"0abc\"}}", "", "",
		  -EBADMSG },
		{ "an option", "{\"sink_branch\": {\"name\": \"-f\", \"from\": \"0abc\"}}", "", "",
		  -EBADMSG },
		{ "no commit", "{\"sink_branch\": {\"name\": \"a\"}}", "", "", -EBADMSG },
		{ "a text", "{\"sink_branch\": \"a\"}", "", "", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *record = cJSON_Parse(cases[i].json);
		struct config_store sink = { .url = "lakefs://rep/main" };
		char from[CONFIG_REF_MAX + 1] = "left";
		struct error err = { 0 };
		int r = run_branch_use(cases[i].label, record, &sink, from, &err);

		if (r != cases[i].code || strcmp(sink.at, cases[i].at) != 0 ||
		    strcmp(from, cases[i].from) != 0)
			fail_msg("%s: found %d, \"%s\" from \"%s\"", cases[i].label, r, sink.at, from);
	}
}

static void test_a_run_has_its_branch(void **state)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };

	(void)state;
	begin_a_run("", &run);
	assert_string_equal(run.branch_from, "");
	assert_true(run_branch_add(members, "exp-s-adam", "0abc"));
	must(run_note_members(members, &err), &err);
	run_done(&run);
	must(run_load(&run, &err), &err);
	assert_string_equal(run.config.sink.at, "exp-s-adam");
	assert_string_equal(run.branch_from, "0abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_branch_of_a_trial),
		cmocka_unit_test_setup_teardown(test_a_run_has_its_branch, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

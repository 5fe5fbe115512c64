/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/lakefs/lakefs_reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static cJSON *parsed(const char *text)
{
	cJSON *json = NULL;

	assert_int_equal(json_parse("t", text, strlen(text), &json, NULL), 0);
	return json;
}

static void test_said(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "{\"message\": \"branch not found\"}", "branch not found" },
		{ "{\"message\": \"a\\nb\"}", "a\\x0ab" },
		{ "{\"message\": 7}", "{\"message\": 7}" },
		{ "{\"reference\": \"\"}", "{\"reference\": \"\"}" },
		{ "<html>", "<html>" },
		{ "", "" },
	};
	char said[LAKEFS_SAID_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lakefs_reply_said(cases[i].text, strlen(cases[i].text), said);
		assert_string_equal(said, cases[i].said);
	}
}

static void test_ids(void **state)
{
	static const struct {
		const char *text, *key;
		int code;
		const char *words;
	} cases[] = {
		{ "{\"id\": \"abc123\"}", "id", 0, "" },
		{ "{\"commit_id\": \"abc123\", \"id\": \"main\"}", "commit_id", 0, "" },
		{ "{\"id\": \"\"}", "id", -EBADMSG, "found 0 characters, expected 1 .. 128" },
		{ "{\"id\": \"a/../b\"}", "id", -EBADMSG, "found the byte 0x2f" },
		{ "{\"id\": 7}", "id", -EBADMSG, "id" },
		{ "{}", "reference", -EBADMSG, "reference" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *json = parsed(cases[i].text);
		char id[LAKEFS_ID_BYTES] = "";
		struct error err = { 0 };

		assert_int_equal(lakefs_reply_id(json, cases[i].key, id, &err), cases[i].code);
		assert_non_null(strstr(err.text, cases[i].words));
		if (cases[i].code == 0)
			assert_string_equal(id, "abc123");
	}
}

static void test_mine(void **state)
{
	static const struct {
		const char *commit, *mine;
		bool is_mine;
	} cases[] = {
		{ "{\"metadata\": {\"a\": \"1\", \"b\": \"2\"}}", "{\"a\": \"1\"}", true },
		{ "{\"metadata\": {\"a\": \"1\", \"b\": \"2\"}}", "{\"a\": \"1\", \"b\": \"3\"}", false },
		{ "{\"metadata\": {\"a\": \"1\"}}", "{\"a\": \"1\", \"c\": \"1\"}", false },
		{ "{\"metadata\": {\"a\": 1}}", "{\"a\": \"1\"}", false },
		{ "{\"metadata\": {\"a\": \"1\"}}", "{}", false },
		{ "{}", "{\"a\": \"1\"}", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *commit = parsed(cases[i].commit);
		CLEANUP(json_free) cJSON *mine = parsed(cases[i].mine);

		assert_int_equal(lakefs_reply_is_mine(commit, mine), cases[i].is_mine);
	}
	assert_false(lakefs_reply_is_mine(NULL, NULL));
}

static int join(void *context, const struct lakefs_difference *difference)
{
	char *text = context;

	(void)sprintf(text + strlen(text), "%s %s %d;", difference->type, difference->path,
		      (int)difference->bytes);
	return 0;
}

static void test_differences(void **state)
{
	static const struct {
		const char *text, *before, *seen, *next;
		int code;
	} cases[] = {
		{ "{\"pagination\": {\"has_more\": true, \"next_offset\": \"b\"}, \"results\": [{\"type\": "
		  "\"added\", "
		  "\"path\": \"a\", \"size_bytes\": 3}, {\"type\": \"conflict\", \"path\": \"b\"}]}",
		  "", "added a 3;conflict b 0;", "b", 0 },
		{ "{\"pagination\": {\"has_more\": false, \"next_offset\": \"\"}, \"results\": []}", "b", "",
		  "", 0 },
		/* a page that leads to itself would never end */
		{ "{\"pagination\": {\"has_more\": true, \"next_offset\": \"b\"}, \"results\": []}", "b", "",
		  "b", -EBADMSG },
		{ "{\"pagination\": {\"has_more\": true, \"next_offset\": \"\"}, \"results\": []}", "", "",
		  "", -EBADMSG },
		{ "{\"pagination\": {}, \"results\": []}", "", "", "", -EBADMSG },
		{ "{\"pagination\": {\"has_more\": false}}", "", "", "", -EBADMSG },
		{ "{\"pagination\": {\"has_more\": false}, \"results\": [{\"type\": \"added\"}]}", "", "", "",
		  -EBADMSG },
		{ "{\"pagination\": {\"has_more\": false}, \"results\": [{\"type\": \"added\", \"path\": "
		  "\"a\", "
		  "\"size_bytes\": -1}]}",
		  "", "", "", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *json = parsed(cases[i].text);
		struct lakefs_page page = { 0 };
		char seen[256] = "";
		struct error err = { 0 };

		(void)snprintf(page.next, sizeof(page.next), "%s", cases[i].before);
		assert_int_equal(lakefs_reply_differences(json, join, seen, &page, &err), cases[i].code);
		assert_string_equal(seen, cases[i].seen);
		assert_string_equal(page.next, cases[i].next);
	}
}

/* The newest commit that has all of the metadata counts. */
static void test_find(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *id;
	} cases[] = {
		{ "{\"results\": [{\"id\": \"c3\", \"metadata\": {\"report\": \"r\"}}, "
		  "{\"id\": \"c2\", \"metadata\": {\"run\": \"r1\", \"more\": \"1\"}}, "
		  "{\"id\": \"c1\", \"metadata\": {\"run\": \"r1\"}}]}",
		  1, "c2" },
		{ "{\"results\": [{\"id\": \"c1\", \"metadata\": {\"run\": \"r2\"}}, {\"id\": \"c0\"}]}", 0,
		  "" },
		{ "{\"results\": []}", 0, "" },
		{ "{\"results\": [{\"metadata\": {\"run\": \"r1\"}}]}", -EBADMSG, "" },
		{ "{}", -EBADMSG, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *json = parsed(cases[i].text), *mine = parsed("{\"run\": \"r1\"}");
		char id[LAKEFS_ID_BYTES] = "";
		struct error err = { 0 };

		assert_int_equal(lakefs_reply_find(json, mine, id, &err), cases[i].code);
		assert_string_equal(id, cases[i].id);
	}
}

static void test_import(void **state)
{
	static const struct {
		const char *text;
		int code;
		bool completed;
		int objects;
		const char *error, *id, *updated;
	} cases[] = {
		{ "{\"completed\": false, \"ingested_objects\": 7}", 0, false, 7, "", "", "" },
		{ "{\"completed\": false, \"update_time\": \"2026-11-27T16:00:00Z\"}", 0, false, 0, "", "",
		  "2026-11-27T16:00:00Z" },
		{ "{\"completed\": true, \"ingested_objects\": 9, \"commit\": {\"id\": \"c1\"}}", 0, true, 9,
		  "", "c1", "" },
		{ "{\"completed\": true, \"error\": {\"message\": \"no such bucket\"}}", 0, true, 0,
		  "no such bucket", "", "" },
		{ "{\"completed\": true, \"error\": {\"message\": \"\"}}", 0, true, 0, "no reason given", "",
		  "" },
		{ "{\"completed\": true}", -EBADMSG, true, 0, "", "", "" },
		{ "{}", -EBADMSG, false, 0, "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *json = parsed(cases[i].text);
		struct lakefs_progress progress;
		struct error err = { 0 };

		assert_int_equal(lakefs_reply_import(json, &progress, &err), cases[i].code);
		assert_int_equal(progress.completed, cases[i].completed);
		assert_int_equal(progress.objects, cases[i].objects);
		assert_string_equal(progress.error, cases[i].error);
		assert_string_equal(progress.id, cases[i].id);
		assert_string_equal(progress.updated, cases[i].updated);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said), cmocka_unit_test(test_ids),
		cmocka_unit_test(test_mine), cmocka_unit_test(test_differences),
		cmocka_unit_test(test_find), cmocka_unit_test(test_import),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

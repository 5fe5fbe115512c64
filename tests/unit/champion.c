/* SPDX-License-Identifier: Apache-2.0 */
/* champion.json, which everybody who may write into the bucket can replace; and the request of a promotion.
 */
#include "oneshot/promote/champion.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "core/series/promote_request.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct store *open_store(void)
{
	struct config config = { .run.name = "t" };
	struct store *store = NULL;
	char folder[PATH_BYTES], url[PATH_BYTES + 8];
	struct error err;

	(void)snprintf(url, sizeof(url), "file://%s", path_of(PATH_RUNS, NULL, folder));
	config.sink.url = url;
	if (champion_store(&config, &config.sink, &store, &err) < 0)
		fail_msg("%s", err.text);
	return store;
}

static void test_none(void **state)
{
	CLEANUP(store_closep) struct store *store = open_store();
	CLEANUP(champion_done) struct champion champion = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(champion_get(store, &champion, &err), 0);
	assert_null(champion.record);
	assert_int_equal(champion_get_former(store, 1, &champion, &err), -ENOENT);
}

#define MEMBERS "\"version\": 1, \"run_id\": \"t-20260101-000000\", "

static void test_outside_bytes(void **state)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/2/a\"}]}", 0 },
		{ "{" MEMBERS "\"number\": 2, \"before\": 0, \"files\": []}", 0 },
		{ "{" MEMBERS "\"number\": 2, \"before\": 2, \"files\": []}", -EBADMSG },
		{ "{" MEMBERS "\"number\": 0, \"before\": 0, \"files\": []}", -EBADMSG },
		{ "{" MEMBERS "\"number\": -1, \"before\": 0, \"files\": []}", -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1}", -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/1/a\"}]}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"../2/a\"}]}", -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/2/../../a\"}]}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/2/./a\"}]}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/2//a\"}]}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/2/\"}]}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{\"key\": \"kiln/2/..a/b\"}]}", 0 },
		{ "{" MEMBERS "\"number\": \"18446744073709551615\", \"before\": 1, \"files\": []}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 4503599627370496, \"before\": 1, \"files\": []}", -EBADMSG },
		{ "{\"version\": 1, \"run_id\": \"../t\", \"number\": 2, \"before\": 1, \"files\": []}",
		  -EBADMSG },
		{ "{\"version\": 1, \"run_id\": \"\", \"number\": 2, \"before\": 1, \"files\": []}",
		  -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [{}]}", -EBADMSG },
		{ "{" MEMBERS "\"number\": 2, \"before\": 1, \"files\": [7]}", -EBADMSG },
		{ "{\"version\": 2, \"run_id\": \"a\", \"number\": 2, \"before\": 1, \"files\": []}",
		  -EBADMSG },
		{ "{\"version\": 1, \"number\": 2, \"before\": 1, \"files\": []}", -EBADMSG },
		{ "[]", -EBADMSG },
		{ "{", -EBADMSG },
		{ "", -EBADMSG },
	};
	CLEANUP(store_closep) struct store *store = open_store();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(champion_done) struct champion champion = { 0 };
		struct error err = { 0 };

		assert_int_equal(
			store_put(store, "champion.json", cases[i].text, strlen(cases[i].text), &err), 0);
		if (champion_get(store, &champion, &err) != cases[i].code)
			fail_msg("%s: %s", cases[i].text, err.text);
		if (cases[i].code == 0)
			assert_string_equal(champion.run_id, "t-20260101-000000");
	}
}

/* champion.json and its history are the same text. */
static void test_put(void **state)
{
	static const char text[] = "{" MEMBERS "\"number\": 3, \"before\": 1, \"files\": []}";
	CLEANUP(store_closep) struct store *store = open_store();
	CLEANUP(champion_done) struct champion now = { 0 }, former = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	struct error err;

	(void)state;
	assert_int_equal(json_parse("text", text, strlen(text), &record, &err), 0);
	assert_int_equal(champion_put(store, record, 3, &err), 0);
	assert_int_equal(champion_get(store, &now, &err), 0);
	assert_int_equal(champion_get_former(store, 3, &former, &err), 0);
	assert_true(now.number == 3 && now.before == 1 && cJSON_Compare(now.record, former.record, true));
}

static uint64_t take(struct store *store, uint64_t now, const char *run_id)
{
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	const struct champion champion = { .record = now ? record : NULL, .number = now };
	struct error err;
	uint64_t number = 0;

	if (champion_take_number(store, &champion, run_id, &number, &err) < 0)
		fail_msg("%s", err.text);
	return number;
}

/* A number that a model has taken, or of which files are there, is never another model's. */
static void test_number(void **state)
{
	CLEANUP(store_closep) struct store *store = open_store();
	struct error err;

	(void)state;
	assert_int_equal(take(store, 4, "x"), 5);
	assert_int_equal(store_put(store, "saved_model/5/saved_model.pb", "x", 1, &err), 0);
	assert_int_equal(take(store, 4, "x"), 5);
	assert_int_equal(take(store, 4, "y"), 6);
	assert_int_equal(take(store, 4, "x"), 7);
	assert_int_equal(take(store, 7, "x"), 8);
	assert_int_equal(store_put(store, "next.json", "{", 1, &err), 0);
	assert_int_equal(store_put(store, "kiln/11/dataset.json", "x", 1, &err), 0);
	assert_int_equal(store_put(store, "onnx/18446744073709551615/a", "x", 1, &err), 0);
	assert_int_equal(store_put(store, "onnx/of-another/a", "x", 1, &err), 0);
	assert_int_equal(take(store, 8, "x"), 12);
}

static void test_request(void **state)
{
	const struct promote_request wanted = {
		.force = true, .series = "s-1", .trial = "wide", .from = 4, .mark = UINT32_MAX
	};
	struct promote_request found = { 0 };
	char path[PATH_BYTES];
	struct error err;

	(void)state;
	assert_int_equal(promote_request_get(&found, &err), 0);
	assert_int_equal(promote_request_put(&wanted, &err), 0);
	assert_int_equal(promote_request_get(&found, &err), 1);
	assert_true(found.force && !found.rollback && found.from == 4 && found.mark == UINT32_MAX);
	assert_string_equal(found.series, "s-1");
	assert_string_equal(found.trial, "wide");
	assert_int_equal(file_write_durable(path_of(PATH_RUNS, "promote.json", path), "{}", 2, &err), 0);
	assert_int_equal(promote_request_get(&found, &err), -EBADMSG);
	assert_int_equal(promote_request_remove(&err), 0);
	assert_int_equal(promote_request_get(&found, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),    cmocka_unit_test(test_outside_bytes),
		cmocka_unit_test(test_put),     cmocka_unit_test(test_number),
		cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests_name("champion", tests, scratch_setup, scratch_teardown);
}

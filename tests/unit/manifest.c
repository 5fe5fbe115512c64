/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *label, *text, *words;
	int code;
	struct manifest_line line;
} cases[] = {
	{ "whole",
	  "{\"key\":\"a b\",\"size\":7,\"etag\":\"e\",\"sha256\":\"s\",\"records\":3}",
	  "",
	  0,
	  { .key = "a b", .size = 7, .etag = "e", .sha256 = "s", .records = 3 } },
	{ "key and size alone", "{\"key\":\"k\",\"size\":0}", "", 0, { .key = "k" } },
	{ "what others add is skipped",
	  "{\"key\":\"k\",\"size\":1,\"more\":[1]}",
	  "",
	  0,
	  { .key = "k", .size = 1 } },
	/* Names of members are case-sensitive; cJSON alone would accept KEY for key. */
	{ "case counts", "{\"KEY\":\"k\",\"size\":1}", "\"key\"", -EBADMSG, { .size = 0 } },
	{ "no size", "{\"key\":\"k\"}", "\"size\"", -EBADMSG, { .size = 0 } },
	{ "negative size", "{\"key\":\"k\",\"size\":-1}", "\"size\"", -EBADMSG, { .size = 0 } },
	{ "empty key", "{\"key\":\"\",\"size\":1}", "an empty key", -EBADMSG, { .size = 0 } },
	{ "key of another kind", "{\"key\":1,\"size\":1}", "\"key\"", -EBADMSG, { .size = 0 } },
	{ "sha256 too long",
	  "{\"key\":\"k\",\"size\":1,\"sha256\":"
	  "\"00000000000000000000000000000000000000000000000000000000000000000\"}",
	  "\"sha256\" of 65 bytes, at most 64",
	  -EBADMSG,
	  { .size = 0 } },
	{ "not an object", "7", "\"key\"", -EBADMSG, { .size = 0 } },
	{ "cut", "{\"key\":\"k\",", "manifest.jsonl", -EBADMSG, { .size = 0 } },
};

static void lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manifest_line line = { 0 };
		struct error err = { 0 };
		int r = manifest_parse(cases[i].text, strlen(cases[i].text), &line, &err);

		if (r != cases[i].code || !strstr(err.text, cases[i].words))
			print_error("# %s: %d %s\n", cases[i].label, r, err.text);
		assert_int_equal(r, cases[i].code);
		assert_non_null(strstr(err.text, cases[i].words));
		assert_memory_equal(&line, &cases[i].line, sizeof(line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

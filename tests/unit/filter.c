/* SPDX-License-Identifier: Apache-2.0 */
#include "data/filter.h"
#include "data/example.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const refused[] = {
	"",
	" ",
	"label",
	"label ==",
	"== 3",
	"label = 3",
	"label == x",
	"label == 3 4",
	"label == \"a",
	"label == \"a\" b",
	"label < \"a\"",
	"label[0] == \"a\"",
	"label[] == 1",
	"label[-1] == 1",
	"label[1024] == 1",
	"label[1 == 1",
	"r[0",
	"r[1023",
	"r[0x",
	"label => 1",
	"label == 1e",
	"label == --1",
	"label == nan",
	"a b == 1",
	"label == 3 and",
	"label == 3 and and b == 4",
	"or label == 3",
	"not",
	"(label == 3",
	"label == 3)",
	"()",
	"label in",
	"label in [ ]",
	"label in [ 1, ]",
	"label in [ 1 2 ]",
	"label in [ 1, 2",
	"label not [ 1 ]",
	"label[0] in [ \"a\" ]",
	"label == 3andb == 4",
};

static void refuses(void **state)
{
	struct filter filter;
	char longest[FILTER_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		/* Memory that ends with the text: a read beyond it is seen (asan). */
		char *text = strdup(refused[i]);

		if (filter_parse(text, &filter))
			fail_msg("\"%s\" was read", text);
		free(text);
	}
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + FILTER_BYTES - 5, " == 1", 6);
	assert_false(filter_parse(longest, &filter));
	assert_true(filter_parse(longest + 1, &filter));
}

/* The record: id 7, score 0.1 and 2.5, onehot 0 1 0, lang "de"; `empty` has no values; `large` is an integer
 * that no double holds. */
static uint64_t make_example(uint8_t *out, uint64_t capacity)
{
	static const struct example_schema schema = {
		.features = 6,
		.feature = { { .name = "id", .dtype = EXAMPLE_INT64, .elements = 1 },
			     { .name = "score", .dtype = EXAMPLE_FLOAT32, .elements = 2 },
			     { .name = "onehot", .dtype = EXAMPLE_INT64, .elements = 3 },
			     { .name = "lang", .dtype = EXAMPLE_BYTES, .elements = 1, .bytes_max = 8 },
			     { .name = "one", .dtype = EXAMPLE_FLOAT32, .elements = 1 },
			     { .name = "large", .dtype = EXAMPLE_INT64, .elements = 1 } }
	};
	static const int64_t id = 7, onehot[] = { 0, 1, 0 }, large = INT64_MAX;
	static const float score[] = { 0.1f, 2.5f }, one = 1;
	static const struct {
		uint32_t bytes;
		char text[8];
	} lang = { 2, "de" };
	const void *rows[] = { &id, score, onehot, &lang, &one, &large };

	return example_write(&schema, rows, out, capacity);
}

static const struct {
	const char *text;
	int match;
	const char *words; /* words of the error, expected with -EBADMSG */
} cases[] = {
	{ "id == 7", 1, NULL },
	{ "id==7", 1, NULL },
	{ " id\t!= 7 ", 0, NULL },
	{ "id < 8", 1, NULL },
	{ "id <= 7", 1, NULL },
	{ "id > 7", 0, NULL },
	{ "id >= 7", 1, NULL },
	{ "id == -7", 0, NULL },
	{ "id > 6.5", 1, NULL },
	{ "id[0] == 7", 1, NULL },
	{ "id[1] == 7", 0, NULL },
	{ "score[0] == 0.1", 1, NULL },
	{ "score[1] >= 2.5", 1, NULL },
	{ "score[1] > 2.5", 0, NULL },
	{ "score[1] > 2", 1, NULL },
	{ "score > 2", -EBADMSG, "feature \"score\": found several values" },
	{ "onehot[1] == 1", 1, NULL },
	{ "onehot[2] == 1", 0, NULL },
	{ "onehot == 1", -EBADMSG, "feature \"onehot\": found several values" },
	{ "one == 1", 1, NULL },
	{ "one != 1.0", 0, NULL },
	{ "lang == \"de\"", 1, NULL },
	{ "lang != \"de\"", 0, NULL },
	{ "lang == \"d\"", 0, NULL },
	{ "lang == \"deu\"", 0, NULL },
	{ "lang != \"\"", 1, NULL },
	{ "lang == 3", -EBADMSG, "feature \"lang\": found bytes_list, expected int64_list" },
	{ "id == \"7\"", -EBADMSG, "feature \"id\": found int64_list, expected bytes_list" },
	{ "none == 0", 0, NULL },
	{ "none != 0", 0, NULL },
	{ "none == \"\"", 1, NULL },
	{ "large == 9223372036854775807", 1, NULL },
	{ "large == 9223372036854775806", 0, NULL },
	{ "large == 9223372036854775808", 1, NULL }, /* beyond int64: compared as a double */
	{ "id == 7 and lang == \"de\"", 1, NULL },
	{ "id == 7 and lang == \"fr\"", 0, NULL },
	{ "id == 8 or lang == \"de\"", 1, NULL },
	{ "id == 8 or lang == \"fr\"", 0, NULL },
	{ "not id == 7", 0, NULL },
	{ "not id == 8", 1, NULL },
	{ "not not id == 7", 1, NULL },
	{ "not none == 0", 1, NULL },
	{ "id in [ 1, 7 ]", 1, NULL },
	{ "id in[1,2]", 0, NULL },
	{ "id not in [ 1, 2 ]", 1, NULL },
	{ "lang in [ \"fr\", \"de\" ]", 1, NULL },
	{ "onehot[1] in [ 1 ]", 1, NULL },
	/* and binds more than or, not more than and. */
	{ "id == 7 or id == 7 and id == 8", 1, NULL },
	{ "(id == 7 or id == 7) and id == 8", 0, NULL },
	{ "not id == 8 and id == 8", 0, NULL },
	{ "not (id == 8 and id == 8)", 1, NULL },
	{ "((id==7)and(lang==\"de\"))", 1, NULL },
	/* What the first half decides, the second half cannot spoil. */
	{ "id == 8 and lang == 3", 0, NULL },
	{ "id == 7 or lang == 3", 1, NULL },
	{ "id == 7 and lang == 3", -EBADMSG, "feature \"lang\": found bytes_list" },
	/* Features with the names of words. */
	{ "not == 0", 0, NULL },
	{ "not[0] == 0", 0, NULL },
	{ "id == 7 and not (or[0] == 1)", 1, NULL },
	{ "in == 0 or and == 0 or id == 7", 1, NULL },
};

static void matches(void **state)
{
	uint8_t example[512];
	uint64_t bytes = make_example(example, sizeof(example));

	(void)state;
	assert_true(bytes <= sizeof(example));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct filter filter;
		struct error err = { 0 };
		int r;

		if (!filter_parse(cases[i].text, &filter))
			fail_msg("\"%s\" was not read", cases[i].text);
		r = filter_match(&filter, example, bytes, &err);
		if (r != cases[i].match || (cases[i].words && !strstr(err.text, cases[i].words)))
			fail_msg("%s: %d %s", cases[i].text, r, err.text);
	}
}

/* A record cut anywhere gives an answer or an error, and is not read beyond its end (asan). */
static void cut(void **state)
{
	uint8_t example[512];
	uint64_t bytes = make_example(example, sizeof(example));

	(void)state;
	for (uint64_t length = 0; length < bytes; length++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			uint8_t *copy = malloc(length + 1);
			struct filter filter;
			struct error err = { 0 };
			int r;

			memcpy(copy, example, length);
			assert_true(filter_parse(cases[i].text, &filter));
			r = filter_match(&filter, copy, length, &err);
			assert_true(r == 0 || r == 1 || (r == -EBADMSG && *err.text));
			free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(matches),
		cmocka_unit_test(cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

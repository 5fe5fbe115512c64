/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table become the features that prep has made of its columns. */
#include "trained/table_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char dataset_text[] =
	"{\"label\":\"y\",\"classes\":[\"no\",\"yes\"],\"columns\":["
	"{\"name\":\"age\",\"type\":\"float\",\"feature\":\"age\",\"fill\":40},"
	"{\"name\":\"city\",\"type\":\"category\",\"feature\":\"city\",\"values\":[\"Bonn\",\"Ulm\"]},"
	"{\"name\":\"who\",\"type\":\"category\",\"feature\":\"who\",\"hashed\":true,"
	"\"values\":[\"0000000000000000\",\"2bd806c97f0e00af\"]},"
	"{\"name\":\"a\",\"type\":\"float\",\"feature\":\"numbers\",\"fill\":1},"
	"{\"name\":\"b\",\"type\":\"float\",\"feature\":\"numbers\",\"fill\":2},"
	"{\"name\":\"count\",\"type\":\"int\",\"feature\":\"count\",\"fill\":7},"
	"{\"name\":\"other\",\"type\":\"float\",\"feature\":\"other\",\"fill\":1},"
	"{\"name\":\"note\",\"type\":\"bytes\",\"feature\":\"note\"},"
	"{\"name\":\"gone\",\"type\":\"dropped\"},"
	"{\"name\":\"y\",\"type\":\"category\",\"feature\":\"y\"}]}";

/* The 16 digits of "who" are those of the SHA-256 of "alice". The configuration does not read "other". */
static const struct {
	const char *row, *expected;
} cases[] = {
	{ "{\"age\":30,\"city\":\"Ulm\",\"who\":\"alice\",\"a\":5,\"b\":6,\"count\":3}",
	  "{\"age\":30,\"city\":2,\"who\":2,\"numbers\":[5,6],\"count\":3}" },
	{ "{}", "{\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2],\"count\":7}" },
	{ "{\"age\":null,\"city\":\"Oslo\",\"who\":null,\"a\":\"\",\"b\":\"2.5\",\"count\":null}",
	  "{\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2.5],\"count\":7}" },
	{ "{\"age\":[30],\"city\":1,\"who\":2,\"numbers\":[8,9],\"count\":\"9223372036854775807\"}",
	  "{\"age\":[30],\"city\":1,\"who\":2,\"numbers\":[8,9],\"count\":\"9223372036854775807\"}" },
	{ "{\"other\":1,\"note\":\"x\",\"gone\":2,\"y\":\"yes\"}",
	  "{\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2],\"count\":7,\"y\":1,\"note\":\"x\"}" },
	{ "{\"y\":0,\"new\":1}",
	  "{\"y\":0,\"new\":1,\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2],\"count\":7}" },
};

static struct config *configuration(void)
{
	static const char *const names[] = { "age", "city", "who", "numbers", "count", "y", "note" };
	struct config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		config->feature[config->features++].name = names[i];
	return config;
}

static void test_rows(void **state)
{
	struct config *config = configuration();
	cJSON *dataset = cJSON_Parse(dataset_text);

	(void)state;
	assert_non_null(dataset);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cJSON *row = cJSON_Parse(cases[i].row), *expected = cJSON_Parse(cases[i].expected);
		struct error err = { 0 };
		char *found;

		assert_int_equal(table_row_translate(dataset, config, row, &err), 0);
		found = cJSON_PrintUnformatted(row);
		if (!cJSON_Compare(row, expected, true))
			fail_msg("found %s, expected %s", found, cases[i].expected);
		free(found);
		cJSON_Delete(row);
		cJSON_Delete(expected);
	}
	cJSON_Delete(dataset);
	free(config);
}

static void test_no_table(void **state)
{
	struct config *config = configuration();
	cJSON *row = cJSON_Parse("{\"age\":\"old\"}"), *dataset = cJSON_Parse(dataset_text);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(table_row_translate(NULL, config, row, &err), 0);
	assert_string_equal(cJSON_GetStringValue(json_member(row, "age")), "old");
	assert_int_equal(table_row_translate(dataset, config, row, &err), -EBADMSG);
	assert_string_equal(err.text, "\"age\": found \"old\", expected a number");
	cJSON_Delete(row);
	cJSON_Delete(dataset);
	free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

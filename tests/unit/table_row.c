/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table become the features that prep has made of its columns. */
#include "trained/table_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char dataset_text[] =
	"{\"label\":\"y\",\"classes\":[\"no\",\"yes\",\"7\"],\"null\":[\"NA\"],\"columns\":["
	"{\"name\":\"age\",\"type\":\"float\",\"feature\":\"age\",\"fill\":40},"
	"{\"name\":\"city\",\"type\":\"category\",\"feature\":\"city\",\"values\":[\"Bonn\",\"Ulm\"]},"
	"{\"name\":\"who\",\"type\":\"category\",\"feature\":\"who\",\"hashed\":true,"
	"\"values\":[\"0000000000000000\",\"2bd806c97f0e00af\"]},"
	"{\"name\":\"a\",\"type\":\"float\",\"feature\":\"numbers\",\"fill\":1},"
	"{\"name\":\"b\",\"type\":\"float\",\"feature\":\"numbers\",\"fill\":2},"
	"{\"name\":\"count\",\"type\":\"int\",\"feature\":\"count\",\"fill\":7},"
	"{\"name\":\"other\",\"type\":\"float\",\"feature\":\"other\",\"fill\":1},"
	"{\"name\":\"zip\",\"type\":\"category\",\"feature\":\"zip\",\"values\":[\"2\",\"10\",\"true\"]},"
	"{\"name\":\"note\",\"type\":\"bytes\",\"feature\":\"note\"},"
	"{\"name\":\"key\",\"type\":\"bytes\",\"feature\":\"key\",\"hashed\":true},"
	"{\"name\":\"gone\",\"type\":\"dropped\"},"
	"{\"name\":\"y\",\"type\":\"category\",\"feature\":\"y\"}]}";

/* The 16 digits of "who" and "key" are those of the SHA-256 of "alice". The configuration does not read
 * "other". */
#define NO_TEXTS ",\"note\":\"\",\"key\":\"\"}"
static const struct {
	const char *row, *expected;
} cases[] = {
	{ "{\"age\":30,\"city\":\"Ulm\",\"who\":\"alice\",\"a\":5,\"b\":6,\"count\":3,\"zip\":10,\"key\":"
	  "\"alice\"}",
	  "{\"age\":30,\"city\":2,\"who\":2,\"numbers\":[5,6],\"count\":3,\"zip\":2,\"note\":\"\",\"key\":"
	  "\"2bd806c97f0e00af\"}" },
	{ "{}", "{\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2],\"count\":7,\"zip\":0" NO_TEXTS },
	{ "{\"age\":\"NA\",\"city\":\"Oslo\",\"who\":null,\"a\":\"\",\"b\":\"2.5\",\"count\":null,\"zip\":"
	  "\"NA\",\"note\":\"\",\"key\":\"NA\"}",
	  "{\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2.5],\"count\":7,\"zip\":0" NO_TEXTS },
	{ "{\"age\":[30],\"city\":[1],\"who\":[2],\"numbers\":[8,9],\"count\":\"9223372036854775807\","
	  "\"zip\":true,\"note\":[\"a\"],\"key\":[\"b\"]}",
	  "{\"age\":[30],\"city\":[1],\"who\":[2],\"numbers\":[8,9],\"count\":\"9223372036854775807\","
	  "\"zip\":3,\"note\":[\"a\"],\"key\":[\"b\"]}" },
	{ "{\"other\":1,\"note\":5,\"gone\":2,\"y\":\"yes\"}",
	  "{\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2],\"count\":7,\"zip\":0,\"y\":1,\"note\":"
	  "\"5\",\"key\":\"\"}" },
	{ "{\"y\":7,\"new\":1,\"zip\":\"2\"}", "{\"y\":2,\"new\":1,\"age\":40,\"city\":0,\"who\":0,"
					       "\"numbers\":[1,2],\"count\":7,\"zip\":1" NO_TEXTS },
	{ "{\"y\":[1]}",
	  "{\"y\":[1],\"age\":40,\"city\":0,\"who\":0,\"numbers\":[1,2],\"count\":7,\"zip\":0" NO_TEXTS },
};

static struct config *configuration(void)
{
	static const char *const names[] = { "age", "city", "who", "numbers", "count",
					     "y",   "note", "zip", "key" };
	struct config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		config->feature[config->features++].name = names[i];
	return config;
}

/* Reads the columns, and translates one row. */
static int translate(const cJSON *dataset, const struct config *config, bool labels, cJSON *row,
		     struct error *err)
{
	CLEANUP(table_row_freep) struct table_row *columns = NULL;

	assert_int_equal(table_row_open(dataset, config, labels, &columns, err), 0);
	return table_row_translate(columns, row, err);
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

		if (!cJSON_HasObjectItem(expected, "y")) /* not read: any class, or none */
			assert_non_null(cJSON_AddStringToObject(row, "y", "other"));
		assert_int_equal(translate(dataset, config, cJSON_HasObjectItem(expected, "y"), row, &err),
				 0);
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

static void test_refused(void **state)
{
	static const char *const refused[][2] = {
		{ "{\"age\":\"old\"}", "\"age\": found \"old\", expected a number" },
		{ "{\"age\":true}", "\"age\": found \"true\", expected a number" },
		{ "{\"age\":1}", "\"y\": found \"\", expected a label" },
		{ "{\"y\":\"maybe\"}", "\"y\": found \"maybe\", expected a class of the model" },
	};
	struct config *config = configuration();
	cJSON *dataset = cJSON_Parse(dataset_text);

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		cJSON *row = cJSON_Parse(refused[i][0]);
		struct error err = { 0 };

		assert_int_equal(translate(dataset, config, true, row, &err), -EBADMSG);
		assert_string_equal(err.text, refused[i][1]);
		cJSON_Delete(row);
	}
	cJSON_Delete(dataset);
	free(config);
}

/* A label that is a number has no value in the place of a missing one. */
static void test_number_label(void **state)
{
	static const char *const rows[] = { "{}", "{\"age\":null}", "{\"age\":\"NA\"}", "{\"age\":\"\"}" };
	struct config *config = configuration();
	cJSON *dataset = cJSON_Parse(dataset_text);

	(void)state;
	assert_true(cJSON_ReplaceItemInObject(dataset, "label", cJSON_CreateString("age")));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *row = cJSON_Parse(rows[i]);
		struct error err = { 0 };

		assert_int_equal(translate(dataset, config, true, row, &err), -EBADMSG);
		assert_string_equal(err.text, "\"age\": found \"\", expected a label");
		cJSON_Delete(row);
	}
	cJSON_Delete(dataset);
	free(config);
}

/* No value takes the place of one that --missing stop demands. */
static void test_stop(void **state)
{
	static const char *const names[] = { "age", "city", "a", "count", "note" };
	struct config *config = configuration();
	cJSON *row = cJSON_Parse("{\"age\":\"NA\",\"b\":3,\"note\":null,\"who\":\"alice\"}");
	cJSON *expected = cJSON_Parse("{\"numbers\":[null,3],\"who\":2,\"zip\":0,\"key\":\"\"}");
	cJSON *dataset = cJSON_Parse(dataset_text), *column;
	struct error err = { 0 };

	(void)state;
	cJSON_ArrayForEach(column, json_member(dataset, "columns"))
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strcmp(cJSON_GetStringValue(json_member(column, "name")), names[i]) == 0)
				assert_non_null(cJSON_AddTrueToObject(column, "stop"));
	assert_int_equal(translate(dataset, config, false, row, &err), 0);
	assert_true(cJSON_Compare(row, expected, true));
	cJSON_Delete(expected);
	cJSON_Delete(row);
	cJSON_Delete(dataset);
	free(config);
}

static void test_columns(void **state)
{
	CLEANUP(table_row_freep) struct table_row *columns = NULL;
	struct config *config = configuration();
	cJSON *row = cJSON_Parse("{\"age\":\"old\"}"), *dataset = cJSON_Parse(dataset_text);
	const char *feature = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(translate(NULL, config, true, row, &err), 0);
	assert_string_equal(cJSON_GetStringValue(json_member(row, "age")), "old");
	assert_int_equal(table_row_open(dataset, config, false, &columns, &err), 0);
	assert_string_equal(table_row_column(columns, 3, &feature), "a");
	assert_string_equal(feature, "numbers");
	assert_string_equal(table_row_column(columns, 6, &feature), "other");
	assert_null(feature);
	assert_null(table_row_column(columns, 12, &feature));
	cJSON_Delete(row);
	cJSON_Delete(dataset);
	free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),         cmocka_unit_test(test_refused),
		cmocka_unit_test(test_number_label), cmocka_unit_test(test_stop),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of kiln prep for tables that have no files: numbers, ends of rows, values, splits, the columns of
 * a first set. */
#include "cli/table/csv.h"
#include "cli/table/follow.h"
#include "cli/table/spill.h"
#include "cli/table/split.h"
#include "cli/table/values.h"
#include "core/base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool is_number, whole;
		double value;
	} cases[] = {
		{ "0", true, true, 0 },
		{ "-12", true, true, -12 },
		{ "+7", true, true, 7 },
		{ "007", true, true, 7 },
		{ "2.5", true, false, 2.5 },
		{ ".5", true, false, .5 },
		{ "5.", true, false, 5 },
		{ "6e-3", true, false, 6e-3 },
		{ "1E22", true, false, 1e22 },
		{ "0.1234567890123456789", true, false, 0.1234567890123456789 }, /* strtod() */
		{ "1e-320", true, false, 1e-320 },
		{ "9007199254740992", true, true, 9007199254740992.0 },
		{ "9007199254740994", true, false, 9007199254740994.0 }, /* beyond 2^53 */
		{ "1e39", false, false, 0 },                             /* no float32 */
		{ "", false, false, 0 },
		{ "-", false, false, 0 },
		{ ".", false, false, 0 },
		{ "1.2.3", false, false, 0 },
		{ "1e", false, false, 0 },
		{ "1e+", false, false, 0 },
		{ "0x10", false, false, 0 },
		{ "nan", false, false, 0 },
		{ "inf", false, false, 0 },
		{ "1 2", false, false, 0 },
		{ " 1", false, false, 0 },
		{ "12a", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double value = 0;
		bool whole = false;

		if (number_parse(cases[i].text, strlen(cases[i].text), &value, &whole) != cases[i].is_number)
			fail_msg("\"%s\"", cases[i].text);
		if (!cases[i].is_number)
			continue;
		if (value < cases[i].value || value > cases[i].value || whole != cases[i].whole)
			fail_msg("\"%s\": %.17g, whole %d", cases[i].text, value, whole);
	}
	assert_false(number_parse("1\0002", 3, &(double){ 0 }, &(bool){ false }));
}

static void test_whole_rows(void **state)
{
	static const struct {
		const char *text;
		uint64_t whole;
	} cases[] = {
		{ "a,b\n1", 4 },
		{ "a,b", 0 },
		{ "", 0 },
		{ "a\nb\n", 4 },
		{ "\"a\nb", 0 }, /* the line end is in a value */
		{ "x\n\"a\nb\"\nc", 8 },
		{ "x\n\"a\"\"\nb\"\nc", 10 }, /* a doubled quote does not close */
		{ "x,\"a\n", 0 },
		{ "x, \"a\n", 0 },    /* spaces in front of a quote */
		{ "5\" disk\ny", 8 }, /* a quote inside a value opens nothing */
		{ "a\r\nb", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(csv_whole_rows(cases[i].text, strlen(cases[i].text), ','), cases[i].whole);
}

static void test_values(void **state)
{
	struct values *values = values_new();
	char text[16];

	(void)state;
	assert_non_null(values);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			(void)snprintf(text, sizeof(text), "v%u", i % 2500);
			assert_int_equal(values_add(values, text, strlen(text), i % 2), i % 2500);
		}
		assert_int_equal(values_count(values), 2500);
		assert_int_equal(values_find(values, "v2499", 5), 2499);
		assert_int_equal(values_find(values, "v2500", 5), VALUES_NONE);
		assert_int_equal(values_rows(values, 7), 2);
		assert_int_equal(values_rows(values, 8), 0);
		assert_string_equal(values_text(values, 12, NULL), "v12");
		values_clear(values);
		assert_int_equal(values_find(values, "v7", 2), VALUES_NONE);
	}
	values_free(values);
}

/* How many of the rows of a label come into the test split. */
static uint32_t tested(struct table *table, const char *label, uint32_t rows)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows; i++) {
		const struct split_row row = { .key = split_key(table->seed, 3, i),
					       .label = label,
					       .label_bytes = label ? strlen(label) : 0,
					       .before = i,
					       .block = 3 };

		count += split_choose(table, &row) == TEXTS_TEST;
	}
	return count;
}

static void test_splits(void **state)
{
	struct table *table = calloc(1, sizeof(*table));
	struct split_row row = { .group = "c7", .group_bytes = 2 };
	enum texts_split split;

	(void)state;
	assert_non_null(table);
	table->test_percent = 20;
	table->seed = 44;
	/* A label gives its share, up to a row or two; without one the share is that of chance. */
	assert_in_range(tested(table, "yes", 50), 8, 12);
	assert_in_range(tested(table, "no", 1000), 198, 202);
	assert_in_range(tested(table, NULL, 10000), 1800, 2200);
	/* A group is in one split, whatever the number of the row is. */
	split = split_choose(table, &row);
	for (uint32_t i = 0; i < 100; i++) {
		row.key = split_key(44, 0, i);
		assert_int_equal(split_choose(table, &row), split);
	}
	free(table);
}

#define SPILL_ROWS  20000u
#define SPILL_BYTES 600u

/* Adds rows whose fields are their numbers. Most of them do not fit in the memory of the smallest spill. */
static struct spill *filled(uint64_t memory_bytes)
{
	union {
		struct spill_row row;
		char bytes[sizeof(struct spill_row) + SPILL_BYTES];
	} one = { .row = { .bytes = sizeof(one) } };
	struct spill *spill;

	assert_int_equal(spill_open(memory_bytes, &spill, NULL), 0);
	for (uint32_t i = 0; i < SPILL_ROWS; i++) {
		one.row.key = split_key(1, 0, i);
		one.row.split = i % TEXTS_SPLITS;
		(void)snprintf(one.row.fields, SPILL_BYTES, "%u", i);
		assert_int_equal(spill_add(spill, &one.row, NULL), 0);
	}
	return spill;
}

/* Reads the rows of a split back, and checks that their keys rise. Returns a sum of their numbers that
 * depends on the order. */
static uint64_t read_back(const struct spill *spill, enum texts_split split)
{
	uint64_t last = 0, sum = 0, rows = 0;

	for (uint32_t p = 0; p < SPILL_PARTS; p++) {
		struct spill_part part;

		assert_int_equal(spill_load(spill, p, &part, NULL), 0);
		for (uint32_t i = 0; i < spill_rows(spill, p, split); i++, rows++) {
			const struct spill_row *row = part.row[part.first[split] + i];
			const uint64_t number = strtoull(row->fields, NULL, 10);

			assert_true(row->key >= last);
			assert_int_equal(row->split, split);
			assert_int_equal(number % TEXTS_SPLITS, split);
			last = row->key;
			sum = sum * 31 + number;
		}
		spill_part_done(&part);
	}
	assert_in_range(rows, SPILL_ROWS / TEXTS_SPLITS, SPILL_ROWS / TEXTS_SPLITS + 1);
	return sum;
}

static void test_spill(void **state)
{
	struct spill *small = filled(1), *large = filled(UINT64_C(1) << 30);

	(void)state;
	for (int s = 0; s < TEXTS_SPLITS; s++)
		assert_true(read_back(small, (enum texts_split)s) == read_back(large, (enum texts_split)s));
	spill_free(small);
	spill_free(large);
}

/* ---- The columns of a first set ---- */

static const char first_set[] =
	"{\"label\":\"y\",\"classes\":[\"no\",\"yes\"],"
	"\"schema\":[{\"name\":\"numbers\"},{\"name\":\"c\"},{\"name\":\"y\"}],\"columns\":["
	"{\"name\":\"a\",\"type\":\"float\",\"feature\":\"numbers\",\"fill\":4},"
	"{\"name\":\"b\",\"type\":\"float\",\"feature\":\"numbers\",\"stop\":true},"
	"{\"name\":\"c\",\"type\":\"category\",\"feature\":\"c\",\"values\":[\"x\"]},"
	"{\"name\":\"y\",\"type\":\"category\",\"feature\":\"y\"}]}";

/* Follows a set with the columns a, b, c and y of one row. `forget`: c has too many values to list them. */
static int follow(const cJSON *dataset, bool forget, struct table *table, struct error *err)
{
	static char *inputs[] = { "new.csv" }, *names[] = { "a", "b", "c", "y" };
	int r;

	table->input = inputs;
	table->rows[TEXTS_TRAIN] = 1;
	if ((r = follow_options(table, dataset, err)) < 0 ||
	    (r = table_name_columns(table, "new.csv", names, 4, err)) < 0 ||
	    (r = follow_columns(table, err)) < 0)
		return r;
	if (forget) {
		values_free(table->column[2].values);
		table->column[2].values = NULL;
	}
	return follow_decide(table, err);
}

static void test_follow(void **state)
{
	struct table *table = calloc(1, sizeof(*table));
	cJSON *dataset = cJSON_Parse(first_set);
	struct error err = { 0 };

	(void)state;
	assert_non_null(table);
	assert_int_equal(follow(dataset, false, table, &err), 0);
	assert_null(table->column[0].values); /* numbers have no ids */
	assert_int_equal(table->column[0].missing, TABLE_FILL);
	assert_int_equal((int)table->column[0].fill, 4);
	assert_int_equal(table->column[1].missing, TABLE_STOP);
	assert_int_equal(table->column[1].place, 1);
	assert_int_equal(table->column[2].id[values_find(table->column[2].values, "x", 1)], 1);
	assert_int_equal(table->column[3].ids, 2);
	table_done(table);
	free(table);
	cJSON_Delete(dataset);
}

/* dataset.json may come from somebody else. */
static void test_follow_refused(void **state)
{
	static const struct {
		const char *key, *item; /* added to this list */
		bool forget;
		int code;
		const char *text;
	} cases[] = {
		{ "columns", "{\"name\":\"a\",\"type\":\"float\",\"feature\":\"numbers\"}", false, -EBADMSG,
		  "dataset.json: column \"a\": found it twice, expected it once" },
		{ "columns", "{\"name\":\"b\",\"type\":\"float\",\"feature\":\"c\"}", false, -EBADMSG,
		  "dataset.json: column \"b\": found the feature \"c\", expected \"numbers\"" },
		{ "schema", "{\"name\":\"more\"}", false, -EBADMSG,
		  "dataset.json: schema: found \"more\", which no column becomes" },
		{ "sets", NULL, true, -EINVAL,
		  "new.csv: --append: column \"c\": found more than 1048576 different values, expected fewer "
		  "for a "
		  "category" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct table *table = calloc(1, sizeof(*table));
		cJSON *dataset = cJSON_Parse(first_set), *list = cJSON_GetObjectItem(dataset, cases[i].key);
		struct error err = { 0 };

		assert_non_null(table);
		if (i == 1) /* the wrong feature comes first */
			cJSON_DeleteItemFromArray(list, 1);
		if (list)
			cJSON_AddItemToArray(list, cJSON_Parse(cases[i].item));
		assert_int_equal(follow(dataset, cases[i].forget, table, &err), cases[i].code);
		assert_string_equal(err.text, cases[i].text);
		table_done(table);
		free(table);
		cJSON_Delete(dataset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),        cmocka_unit_test(test_whole_rows),
		cmocka_unit_test(test_values),         cmocka_unit_test(test_splits),
		cmocka_unit_test(test_spill),          cmocka_unit_test(test_follow),
		cmocka_unit_test(test_follow_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as text: rows of a list, the record, the curve; and colours, which a file never gets. */
#include "cli/base/color.h"
#include "cli/runs/curve.h"
#include "cli/runs/places.h"
#include "cli/runs/record.h"
#include "cli/runs/stored.h"
#include "core/run/run_summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/json_text.h"

static void test_row(void **state)
{
	static const struct {
		const char *record, *row;
	} cases[] = {
		{ "{\"id\":\"a\",\"state\":\"finished\",\"started_s\":5,\"seed\":1,"
		  "\"time\":{\"starts\":2,\"starting_s\":1.5,\"training_s\":2,\"throttled_s\":9,\"paused_s\":"
		  "0.5},"
		  "\"epochs\":[{\"loss\":9},{\"loss\":0.5,\"accuracy\":0.25,\"validation_loss\":1}],"
		  "\"metrics\":{\"test\":{\"loss\":2,\"accuracy\":0.75,\"rows\":3}}}",
		  "{\"id\":\"a\",\"state\":\"finished\",\"started_s\":5,\"took_s\":4,\"epochs\":2,\"loss\":0."
		  "5,"
		  "\"accuracy\":0.25,\"validation_loss\":1,\"test_loss\":2,\"test_accuracy\":0.75}" },
		{ "{\"id\":\"a\",\"epochs\":[{\"loss\":null}],\"time\":3,\"metrics\":[]}",
		  "{\"id\":\"a\",\"epochs\":1}" },
		{ "{}", "{\"epochs\":0}" },
		{ "[]", "{\"epochs\":0}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *record = parse(cases[i].record);
		CLEANUP(json_free) cJSON *row = run_summary(record);
		CLEANUP(free_ptr) char *text = cJSON_PrintUnformatted(row);

		assert_string_equal(text, cases[i].row);
	}
}

static void test_order(void **state)
{
	(void)state;
	assert_true(places_newest_first("a-20260102-000000", "b-20260101-000000") < 0);
	assert_true(places_newest_first("a-20260101-000000", "b-20260102-000000") > 0);
	assert_true(places_newest_first("b-20260101-000000", "a-20260101-000000") < 0);
	assert_int_equal(places_newest_first("a-20260101-000000", "a-20260101-000000"), 0);
	assert_true(places_newest_first("x", "a-20260101-000000") < 0);
}

/* ---- Text ---- */

struct page {
	FILE *out;
	char *text;
	size_t bytes;
};

static void open_page(struct page *page)
{
	page->out = open_memstream(&page->text, &page->bytes);
	assert_non_null(page->out);
}

static void page_done(struct page *page)
{
	free(page->text);
}

static unsigned lines_with(const char *text, const char *words)
{
	unsigned count = 0;

	for (; (text = strstr(text, words)); text++)
		count++;
	return count;
}

static void test_curve(void **state)
{
	static const double falls[] = { 4, 3, 2, NAN, 0 }, same[] = { 1, 1, 1, 1, 1 };
	const struct curve curves[] = { { "loss", '*', falls }, { "validation loss", 'o', same } };
	const double none[] = { NAN, INFINITY };
	CLEANUP(page_done) struct page page = { 0 }, flat = { 0 }, empty = { 0 };

	(void)state;
	open_page(&page);
	curve_draw(curves, 2, 5, page.out);
	assert_int_equal(fclose(page.out), 0);
	assert_string_equal(page.text, "\n* loss   o validation loss\n"
				       "    4.0000 |*\n"
				       "           |\n"
				       "           | *\n"
				       "           |\n"
				       "           |\n"
				       "           |  *\n"
				       "           |\n"
				       "           |ooooo\n"
				       "           |\n"
				       "    0.0000 |    *\n"
				       "           +-----\n"
				       "     epoch  1   5\n");
	open_page(&flat);
	curve_draw(&curves[1], 1, 5, flat.out);
	assert_int_equal(fclose(flat.out), 0);
	assert_non_null(strstr(flat.text, "    1.0000 |ooooo\n"));
	open_page(&empty);
	curve_draw(&(struct curve){ "loss", '*', none }, 1, 2, empty.out);
	assert_int_equal(fclose(empty.out), 0);
	assert_string_equal(empty.text, "");
}

/* Returns the record of a run of `count` epochs, whose validation loss is lowest in epoch `best`, from 1. */
static cJSON *record_of(int count, int best)
{
	cJSON *record = cJSON_CreateObject(), *epochs;

	(void)cJSON_AddStringToObject(record, "id", "t-20260101-000000");
	(void)cJSON_AddStringToObject(record, "state", "finished");
	epochs = cJSON_AddArrayToObject(record, "epochs");
	for (int i = 0; i < count; i++) {
		cJSON *epoch = cJSON_CreateObject();

		(void)cJSON_AddNumberToObject(epoch, "epoch", i);
		(void)cJSON_AddNumberToObject(epoch, "loss", 1 + 1.0 / (i + 1));
		(void)cJSON_AddNumberToObject(epoch, "validation_loss", 2 + abs(i + 1 - best));
		(void)cJSON_AddItemToArray(epochs, epoch);
	}
	return record;
}

static char *text_of(const cJSON *record, bool all_epochs)
{
	struct page page;
	struct error err = { 0 };

	open_page(&page);
	if (record_print(record, "file:///runs", all_epochs, page.out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fclose(page.out), 0);
	return page.text;
}

/* A long run is shortened: the first epoch, the last, the best, and others between them. */
static void test_long_run(void **state)
{
	CLEANUP(json_free) cJSON *record = record_of(225, 101);
	CLEANUP(free_ptr) char *some = text_of(record, false);
	CLEANUP(free_ptr) char *all = text_of(record, true);

	(void)state;
	assert_int_equal(lines_with(some, "           -  "), 20 + 1);
	assert_non_null(strstr(some, "\n1           2.0000"));
	assert_non_null(strstr(some, "\n225         1.0044"));
	assert_non_null(strstr(some, "\n101         1.0099           -      2.0000           -  best\n"));
	assert_non_null(strstr(some, "\n(some of 225 epochs; --all-epochs prints all)\n"));
	assert_non_null(strstr(some, "\n* loss   o validation loss\n"));
	assert_non_null(strstr(some, "\noutputs file:///runs/t-20260101-000000\n"));
	assert_non_null(strstr(all, "\n124  "));
	assert_null(strstr(all, "best"));
	assert_non_null(strstr(all, "\n* loss   o validation loss\n"));
}

static void test_short_run(void **state)
{
	CLEANUP(json_free) cJSON *record = record_of(3, 2);
	CLEANUP(free_ptr) char *text = text_of(record, false);

	(void)state;
	assert_string_equal(text, "run     t-20260101-000000\nstate   finished\n\n"
				  "epoch         loss    accuracy   val. loss   val. acc.\n"
				  "1           2.0000           -      3.0000           -\n"
				  "2           1.5000           -      2.0000           -\n"
				  "3           1.3333           -      3.0000           -\n"
				  "\noutputs file:///runs/t-20260101-000000\n");
}

static void test_damaged_record(void **state)
{
	CLEANUP(json_free) cJSON *record = parse("{\"id\":\"a\"}");
	struct error err = { 0 };

	(void)state;
	assert_int_equal(record_print(record, NULL, false, stdout, &err), -EBADMSG);
}

static void test_colors(void **state)
{
	(void)state;
	assert_string_equal(color_begin(COLOR_BAD),
			    ""); /* standard output of this test is a pipe or a file */
	assert_string_equal(color_end(), "");
	assert_int_equal(color_of_state("failed"), COLOR_BAD);
	assert_int_equal(color_of_state("idle"), COLOR_MAX);
	assert_string_equal(color_begin(COLOR_MAX), "");
}

static cJSON *row_with(const char *id)
{
	cJSON *row = cJSON_CreateObject();

	assert_non_null(cJSON_AddStringToObject(row, "id", id));
	return row;
}

static void test_insert(void **state)
{
	static const char *const ids[] = { "a-20260101-000003", "a-20260101-000001", "a-20260101-000002",
					   "b-20260101-000002", "a-20260101-000004", "a-20260101-000000" };
	static const char *const sorted[] = { "a-20260101-000004", "a-20260101-000003", "b-20260101-000002",
					      "a-20260101-000002", "a-20260101-000001" };
	cJSON *rows = cJSON_CreateArray(), *again = row_with(ids[2]);

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_true(stored_insert(rows, row_with(ids[i])));
	assert_false(stored_insert(rows, again));
	stored_trim(rows, 5);
	assert_int_equal(cJSON_GetArraySize(rows), 5);
	for (int i = 0; i < 5; i++)
		assert_string_equal(cJSON_GetArrayItem(rows, i)->child->valuestring, sorted[i]);
	cJSON_Delete(again);
	cJSON_Delete(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row),       cmocka_unit_test(test_order),
		cmocka_unit_test(test_curve),     cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_short_run), cmocka_unit_test(test_damaged_record),
		cmocka_unit_test(test_colors),    cmocka_unit_test(test_insert),
	};

	(void)setenv("NO_COLOR", "1", 1);
	return cmocka_run_group_tests_name("cli_runs", tests, NULL, NULL);
}

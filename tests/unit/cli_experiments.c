/* SPDX-License-Identifier: Apache-2.0 */
/* Series and comparisons as text and as CSV, and the table that prints both. */
#include "cli/base/grid.h"
#include "cli/experiments/differs.h"
#include "cli/experiments/table.h"
#include "core/series/compared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/json_text.h"

/* ---- The table ---- */

static const struct {
	const char *cell[4], *text, *csv;
} grids[] = {
	{ { "name", "value", "a", "12.5" }, "name  value\na      12.5\n", "name,value\r\na,12.5\r\n" },
	{ { "name", "value", "a", "b" }, "name  value\na     b\n", "name,value\r\na,b\r\n" },
	{ { "n", "v", "gr\xc3\xbc\xc3\x9f", "-" },
	  "n     v\ngr\xc3\xbc\xc3\x9f  -\n",
	  "n,v\r\ngr\xc3\xbc\xc3\x9f,'-\r\n" },
	{ { "n", "v", "a,b", "say \"x\"\n" }, NULL, "n,v\r\n\"a,b\",\"say \"\"x\"\"\n\"\r\n" },
	{ { "n", "v", "=1+2", "-3" }, NULL, "n,v\r\n'=1+2,-3\r\n" },
	{ { "n", "v", "@x", "-" }, NULL, "n,v\r\n'@x,'-\r\n" },
	{ { "n", "v", "-a, b", "\"" }, NULL, "n,v\r\n\"'-a, b\",\"\"\"\"\r\n" },
};

static char *printed(const struct grid *grid, void (*print)(const struct grid *grid, FILE *out))
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	print(grid, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_grid(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		CLEANUP(grid_done) struct grid grid;
		CLEANUP(free_ptr) char *text = NULL, *csv = NULL;

		grid_open(&grid, 2);
		for (int j = 0; j < 4; j++)
			grid_add(&grid, grids[i].cell[j]);
		text = printed(&grid, grid_print);
		csv = printed(&grid, grid_print_csv);
		if (grids[i].text)
			assert_string_equal(text, grids[i].text);
		assert_string_equal(csv, grids[i].csv);
	}
}

/* Returns what is printed of `json`, which the caller frees. */
static char *text_of(const cJSON *json, void (*print)(const cJSON *json, FILE *out))
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	print(json, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* ---- A series ---- */

static char *text_of_series(const cJSON *series,
			    int (*print)(const cJSON *series, FILE *out, struct error *err))
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(print(series, out, NULL), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

#define SERIES                                                                                             \
	"{\"id\":\"t-series-20260101-000000\",\"state\":\"finished\",\"method\":\"list\","                 \
	"\"objective\":\"validation.accuracy\",\"direction\":\"max\",\"winner\":\"adam\","                 \
	"\"promotion\":{\"outcome\":\"kept\",\"why\":\"no gain\"},\"trials\":["                            \
	"{\"name\":\"sgd\",\"overrides\":{\"optimizer.name\":\"sgd\"},\"state\":\"failed\",\"run\":\"\","  \
	"\"epochs\":0,\"value\":null,\"best_epoch\":0,\"reason\":\"a NaN\",\"took_s\":0},"                 \
	"{\"name\":\"adam\",\"overrides\":{\"optimizer.name\":\"adam\"},\"state\":\"finished\","           \
	"\"run\":\"t-20260101-000000\",\"epochs\":3,\"value\":0.875,\"best_epoch\":2,"                     \
	"\"summary\":{\"test_accuracy\":0.5,\"test_loss\":0.25},\"took_s\":90,\"started_s\":5,\"rung\":0," \
	"\"rows_per_s\":1234.5,\"bytes\":2500000}]}"

static void test_show(void **state)
{
	CLEANUP(json_free) cJSON *series = parse(SERIES);
	CLEANUP(free_ptr) char *text = text_of_series(series, series_print);
	CLEANUP(free_ptr) char *csv = text_of_series(series, series_print_csv);

	(void)state;
	assert_string_equal(text, "series   t-series-20260101-000000\n"
				  "state    finished\n"
				  "trials   2, list; best: the highest validation accuracy\n"
				  "winner   adam\n"
				  "model    kept: no gain\n"
				  "\n"
				  "trial   state     optimizer.name  validation accuracy  epoch  test acc.  "
				  "epochs  took  rows/s    read\n"
				  "adam *  finished  adam                        87.50 %      2    50.00 %   "
				  "    3  90 s    1234  2.5 MB\n"
				  "sgd     failed    sgd                               -      -          -   "
				  "    0   0 s       -       -\n"
				  "\nsgd: a NaN\n");
	assert_string_equal(
		csv, "trial,optimizer.name,validation.accuracy,best_epoch,test_loss,test_accuracy,epochs,"
		     "rung,started_s,took_s,rows_per_s,bytes,state,run,reason\r\n"
		     "adam,adam,0.875,2,0.25,0.5,3,0,5,90,1234.5,2500000,finished,t-20260101-000000,\r\n"
		     "sgd,sgd,,0,,,0,,,0,,,failed,,a NaN\r\n");
}

/* The heading of a series whose winner was promoted, without its first four lines. */
static void heading_is(const char *promotion, const char *expected)
{
	CLEANUP(json_free) cJSON *series = parse(SERIES);
	CLEANUP(free_ptr) char *text = NULL;

	cJSON_ReplaceItemInObjectCaseSensitive(series, "promotion", parse(promotion));
	text = text_of_series(series, series_print);
	if (!strstr(text, expected))
		fail_msg("%s\n%s", expected, text);
}

static void test_promoted(void **state)
{
	(void)state;
	heading_is(
		"{\"outcome\": \"promoted\", \"why\": \"gain 0.02\", \"number\": 2, \"champion\": \"t-1\"}",
		"winner   adam\nmodel    promoted: gain 0.02\nchampion 2; before it: t-1\n\n");
	heading_is("{\"outcome\": \"promoted\", \"why\": \"there was no champion\", \"number\": 1}",
		   "model    promoted: there was no champion\nchampion 1; before it: none\n\n");
}

/* A setting that one trial alone has is an empty field of the others. */
static void test_missing_setting(void **state)
{
	CLEANUP(json_free)
	cJSON *series =
		parse("{\"objective\":\"train.loss\",\"direction\":\"min\",\"config\":\"\",\"trials\":["
		      "{\"name\":\"a\",\"overrides\":{\"model.layers.d.l2\":0.5},\"state\":\"waiting\"},"
		      "{\"name\":\"b\",\"overrides\":{},\"state\":\"waiting\"}]}");
	CLEANUP(free_ptr) char *csv = text_of_series(series, series_print_csv);

	(void)state;
	assert_non_null(strstr(csv, "\r\na,0.5,,"));
	assert_non_null(strstr(csv, "\r\nb,,,"));
}

static void test_list(void **state)
{
	CLEANUP(json_free)
	cJSON *rows = parse(
		"[{\"id\":\"t-series-20260101-000000\",\"state\":\"running\",\"method\":\"grid\","
		"\"objective\":\"validation.loss\",\"started_s\":0,\"trials\":8,\"finished\":2,\"pruned\":1,"
		"\"failed\":0,\"best\":\"grid-3\",\"best_value\":0.25},"
		"{\"id\":\"u-series-20260101-000000\",\"error\":\"damaged\"}]");
	CLEANUP(free_ptr) char *text = text_of(rows, series_print_list);
	CLEANUP(free_ptr) char *csv = text_of(rows, series_print_list_csv);

	(void)state;
	assert_string_equal(text, "series                    state    began                method  trials  "
				  "objective          best  trial   winner\n"
				  "t-series-20260101-000000  running  1970-01-01 00:00:00  grid    3 of 8  "
				  "validation.loss  0.2500  grid-3  -\n"
				  "u-series-20260101-000000  damaged  -                    -            -  - "
				  "                    -  -       -\n");
	assert_non_null(strstr(
		csv,
		"\r\nt-series-20260101-000000,,running,grid,validation.loss,,0,,8,2,1,0,0.25,grid-3,\r\n"));
}

/* ---- Two runs ---- */

#define DIFFERENCE                                                                                           \
	"{\"a\":{\"id\":\"t-1\",\"series\":\"s\",\"trial\":\"adam\"},\"b\":{\"id\":\"t-2\"},"                \
	"\"settings\":[{\"key\":\"optimizer.name\",\"a\":\"adam\",\"b\":\"sgd\"}],\"unread\":null,"          \
	"\"facts\":{\"plan\":{\"a\":\"ab\",\"b\":\"ab\",\"same\":true},"                                     \
	"\"device\":{\"a\":\"x\",\"b\":\"y\",\"same\":false},"                                               \
	"\"weights\":{\"a\":\"\",\"b\":\"\",\"same\":true}},"                                                \
	"\"parts\":{\"epoch\":1,\"figure\":\"loss\",\"a\":0.5,\"b\":0.25},\"compared\":3,"                   \
	"\"gap\":{\"epoch\":2,\"figure\":\"validation_accuracy\",\"a\":0.5,\"b\":0.75},"                     \
	"\"ahead\":{\"epoch\":2,\"run\":\"b\"},"                                                             \
	"\"figures\":[{\"key\":\"epochs\",\"a\":3,\"b\":4},{\"key\":\"test_accuracy\",\"a\":0.5,\"b\":null}" \
	","                                                                                                  \
	"{\"key\":\"took_s\",\"a\":90,\"b\":95}]}"

static void test_compare(void **state)
{
	CLEANUP(json_free) cJSON *difference = parse(DIFFERENCE);
	CLEANUP(free_ptr) char *text = text_of(difference, differs_print);
	CLEANUP(free_ptr) char *csv = text_of(difference, differs_print_csv);

	(void)state;
	assert_string_equal(text,
			    "a  t-1, trial adam\n"
			    "b  t-2\n"
			    "\n"
			    "setting         a     b\n"
			    "optimizer.name  adam  sgd\n"
			    "\n"
			    "plan        the same: ab\n"
			    "device      a x\n"
			    "            b y\n"
			    "curves      part at epoch 1: loss 0.5 and 0.25\n"
			    "            are furthest apart at epoch 2: validation accuracy 50.00 % and "
			    "75.00 %\n"
			    "            b is ahead from epoch 2 on\n"
			    "\n"
			    "figure               a     b\n"
			    "epochs               3     4\n"
			    "test accuracy  50.00 %     -\n"
			    "took              90 s  95 s\n");
	assert_non_null(
		strstr(csv, "what,key,a,b\r\nfact,run,t-1,t-2\r\nsetting,optimizer.name,adam,sgd\r\n"));
	assert_non_null(strstr(csv, "\r\nparts,\"epoch 1, loss\",0.5,0.25\r\n"));
	assert_non_null(strstr(csv, "\r\ngap,\"epoch 2, validation_accuracy\",0.5,0.75\r\n"
				    "ahead,from epoch 2 on,,ahead\r\n"));
	assert_non_null(strstr(csv, "\r\nfigure,test_accuracy,0.5,\r\n"));
}

static void test_compare_same(void **state)
{
	static const struct {
		const char *json, *words;
	} cases[] = {
		{ "{\"settings\":[],\"parts\":null,\"compared\":2}", "settings: the same\n" },
		{ "{\"settings\":[],\"parts\":null,\"compared\":2}",
		  "the same in the 2 epochs that both have" },
		{ "{\"settings\":null,\"unread\":\"line 3\",\"compared\":0}",
		  "settings: not compared: line 3" },
		{ "{}", "no epoch that both have" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *difference = parse(cases[i].json);
		CLEANUP(free_ptr) char *text = text_of(difference, differs_print);

		if (!strstr(text, cases[i].words))
			fail_msg("found no %s in %s", cases[i].words, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grid),         cmocka_unit_test(test_show),
		cmocka_unit_test(test_promoted),     cmocka_unit_test(test_missing_setting),
		cmocka_unit_test(test_list),         cmocka_unit_test(test_compare),
		cmocka_unit_test(test_compare_same),
	};

	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests_name("cli_experiments", tests, NULL, NULL);
}

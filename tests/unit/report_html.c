/* SPDX-License-Identifier: Apache-2.0 */
/* The HTML page of a report: what it shows of which record, and that nothing in a record has a meaning for
 * the browser. tests/system/report_html.sh loads pages in a browser. */
#include "core/box/report_html.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Returns the page, which the caller frees. */
static char *page_of_series(const cJSON *report, const cJSON *record, const cJSON *series)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	report_html(report, record, series, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *page_of(const cJSON *report, const cJSON *record)
{
	return page_of_series(report, record, NULL);
}

static char *page(const char *report_text, const char *record_text)
{
	CLEANUP(json_free) cJSON *report = report_text ? cJSON_Parse(report_text) : NULL;
	CLEANUP(json_free) cJSON *record = record_text ? cJSON_Parse(record_text) : NULL;

	assert_true((report || !report_text) && (record || !record_text));
	return page_of(report, record);
}

static int count_of(const char *text, const char *word)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		count++;
	return count;
}

/* Returns the first tag that has a number which is none. */
static const char *wrong_tag(const char *text)
{
	static char tag[16384];

	while ((text = strchr(text, '<'))) {
		(void)snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(text, ">"), text);
		if (strstr(tag, "nan") || strstr(tag, "inf"))
			return tag;
		text++;
	}
	return NULL;
}

/* Copies the path of a class, such as "train" or "dots held"; `chart` counts from 0. */
static void find_path(const char *text, int chart, const char *class, char *out, size_t size)
{
	char mark[64];

	(void)snprintf(mark, sizeof(mark), "<path class=\"%s\" d=\"", class);
	for (; chart >= 0; chart--) {
		text = strstr(text, "<svg class=\"chart\"");
		assert_non_null(text);
		text += 4;
	}
	text = strstr(text, mark);
	assert_non_null(text);
	text += strlen(mark);
	(void)snprintf(out, size, "%.*s", (int)strcspn(text, "\""), text);
}

#define PAGE_MAX (30u << 10) /* core/box/report_html.h: bytes of a page of many epochs */

#define REPORT                                                                                           \
	"{\"schema\": 1, \"id\": \"20261122-220000\", \"text\": \"box: t\", \"outcome\": \"finished\", " \
	"\"reason\": null, \"host\": \"box\", \"version\": \"0.1.0\", \"machine\": \"4f\", "             \
	"\"slot\": \"B\", \"build\": \"0123\", "                                                         \
	"\"night\": {\"from_s\": 1795384800, \"to_s\": 1795388400, \"by\": \"timer\", "                  \
	"\"next_s\": 1795471200}, "                                                                      \
	"\"run\": {\"id\": \"t-1\", \"name\": \"t\", \"state\": \"finished\", \"epochs\": 3, "           \
	"\"batch_rows\": 32, \"seed\": 44, \"started_s\": 1795384801, \"plan_sha256\": \"abc\", "        \
	"\"start_run\": \"t-0\", \"sources\": [\"s3://b/data\"], \"outputs\": \"s3://b/runs/t-1\", "     \
	"\"device\": \"a device\"}, "                                                                    \
	"\"test\": {\"loss\": 0.4554, \"accuracy\": 0.8664, \"rows\": 3764}, "                           \
	"\"time\": {\"starts\": 2, \"training_s\": 60, \"waiting_s\": 20, \"upload_s\": 90}, "           \
	"\"faults\": [{\"event\": \"source.retried\", \"level\": \"notice\", \"count\": 3, "             \
	"\"last_s\": 1795384805, \"message\": \"again\"}], \"degraded\": []}"

#define RECORD                                                                                      \
	"{\"id\": \"t-1\", \"name\": \"t\", \"state\": \"finished\", \"kiln_version\": \"0.1.0\", " \
	"\"classes\": [\"neg\", \"pos\"], \"metrics\": {\"train\": {\"rows\": 500}, "               \
	"\"test\": {\"loss\": 0.4554, \"accuracy\": 0.8664, \"rows\": 3764}}, "                     \
	"\"epochs\": [{\"epoch\": 0, \"loss\": 0.9, \"accuracy\": 0.5, \"validation_loss\": 0.8, "  \
	"\"validation_accuracy\": 0.6}, {\"epoch\": 1, \"loss\": 0.7, \"accuracy\": 0.7, "          \
	"\"validation_loss\": 0.6, \"validation_accuracy\": 0.75}, {\"epoch\": 2, \"loss\": 0.5, "  \
	"\"accuracy\": 0.9, \"validation_loss\": 0.65, \"validation_accuracy\": 0.7}]}"

/* ---- What it shows ---- */

static void test_night(void **state)
{
	static const char *const expected[] = {
		"<title>t-1</title>",
		"<h1>t</h1>",
		"class=\"outcome good\">finished<",
		"2026-11-22 22:00:00 to 2026-11-22 23:00:00 UTC, started by the timer",
		"<dd>box</dd>",
		"Kiln 0.1.0, build 0123",
		"<dd>a device</dd>",
		"<dt>trained on</dt><dd>s3://b/data</dd>",
		"<dd>2: neg, pos</dd>",
		"500 train, 3764 test",
		"<span>test accuracy</span>86.64 %",
		"<span>best validation accuracy</span>75.00 %",
		"<span>epochs</span>3 of 3",
		"<span>time of the trainer</span>1 min 20 s",
		"<th>validation loss</th><td>0.8000</td><td>0.6000</td><td>2</td><td>0.6500</td>",
		"<th>test loss</th>",
		"<rect width=\"75.00\"", /* training, of training and waiting */
		"<b>source.retried</b> <span class=\"level notice\">notice</span>",
		"3×, last at 22:00:05 UTC</span><br>again",
		"<dt>next night</dt><dd>2026-11-23 22:00:00 UTC</dd>",
	};
	CLEANUP(free_ptr) char *text = page(REPORT, RECORD);

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (!strstr(text, expected[i]))
			fail_msg("found no %s in %s", expected[i], strstr(text, "<body>"));
	assert_int_equal(count_of(text, "<figure>"), 2);
}

/* The page needs nothing that is not in it. */
static void test_alone(void **state)
{
	static const char *const refused[] = { "<script", "<img",    "src=",  "url(",
					       "@import", "<iframe", "http:", "https:" };
	CLEANUP(free_ptr) char *text = page(REPORT, RECORD);

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strstr(text, refused[i]))
			fail_msg("found %s", refused[i]);
	assert_non_null(strstr(text,
			       "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
			       "form-action 'none'; base-uri 'none'\""));
	assert_int_equal(count_of(text, "href="), 1);
	assert_int_equal(count_of(text, "href=\"data:,\""), 1);
}

static void test_failed_without_epochs(void **state)
{
	CLEANUP(free_ptr)
	char *text = page(
		"{\"outcome\": \"failed\", \"reason\": \"a NaN\", \"faults\": null, "
		"\"run\": {\"id\": \"t-1\", \"name\": \"t\", \"epochs\": 3}, \"test\": null, \"time\": null}",
		"{\"id\": \"t-1\", \"name\": \"t\", \"state\": \"failed\", \"epochs\": []}");

	(void)state;
	assert_non_null(strstr(text, "class=\"outcome bad\">failed</span> a NaN"));
	assert_non_null(strstr(text, "<span>epochs</span>0 of 3"));
	assert_non_null(strstr(text, "Not known: the journal cannot be read."));
	assert_null(strstr(text, "<figure>"));
	assert_null(strstr(text, "<table"));
}

static void test_never_started(void **state)
{
	CLEANUP(free_ptr)
	char *text = page(
		"{\"id\": \"20261122-220000\", \"outcome\": \"never_started\", \"reason\": \"no "
		"credential\", "
		"\"run\": null, \"faults\": [], \"unfit\": {\"file\": \"kiln.conf\", \"rows\": [{\"result\": "
		"\"failed\", \"part\": \"record\", \"text\": \"2 values\", \"todo\": \"make it 3\"}, "
		"{\"result\": \"passed\", \"part\": \"store\", \"text\": \"there\", \"todo\": \"\"}]}}",
		NULL);

	(void)state;
	assert_non_null(strstr(text, "<h1>No run started</h1>\n<p class=\"id\">20261122-220000</p>"));
	assert_non_null(strstr(text, ">never started</span> no credential"));
	assert_non_null(strstr(text, "<li><b>failed</b> record: 2 values<br>→ make it 3</li>"));
	assert_int_equal(count_of(text, "<br>→"), 1);
	assert_non_null(strstr(text, "<p>None.</p>"));
	assert_null(strstr(text, "class=\"tiles\""));
}

/* A regression has no accuracy. */
static void test_no_accuracy(void **state)
{
	CLEANUP(free_ptr)
	char *text =
		page(NULL,
		     "{\"id\": \"t-1\", \"name\": \"t\", \"state\": \"running\", \"epochs\": [{\"epoch\": 0, "
		     "\"loss\": 2}, {\"epoch\": 1, \"loss\": 1}], \"metrics\": {\"test\": {\"loss\": 1.5}}}");

	(void)state;
	assert_int_equal(count_of(text, "<figure>"), 1);
	assert_null(strstr(strstr(text, "<body>"), "accuracy"));
	assert_null(strstr(text, "validation</span>"));
	assert_non_null(strstr(text, "<span>test loss</span>1.5000"));
	assert_non_null(strstr(text, "<span>best loss</span>1.0000"));
	assert_non_null(strstr(text, "class=\"outcome wary\">running<"));
	assert_null(strstr(text, "Faults")); /* without a report nobody knows them */
}

static void test_warnings_and_lists(void **state)
{
	CLEANUP(free_ptr)
	char *text = page(
		"{\"validation_seen\": {\"run\": \"t-0\", \"shards\": 2, \"of\": 3}, \"test_given_up\": \"a "
		"string\", "
		"\"degraded\": [{\"daemon\": \"fetchd\", \"why\": \"slow\"}], \"changed\": [\"a.tfrecord\"], "
		"\"quarantine\": {\"records\": [{\"key\": \"b.tfrecord\", \"offset\": 12, \"rest\": false}, "
		"{\"key\": \"c.tfrecord\", \"offset\": 34, \"rest\": true}], \"more\": 5}, "
		"\"left_behind\": {\"files\": 9, \"bytes\": 45, \"names\": [\"model.onnx\"]}}",
		"{\"epochs\": []}");

	(void)state;
	assert_non_null(
		strstr(text, "the figures of the validation are too good: t-0 trained on 2 of the 3"));
	assert_non_null(strstr(text, "<b>No figures of the test:</b> a string"));
	assert_non_null(strstr(text, "<b>fetchd was degraded at the end:</b> slow"));
	assert_non_null(
		strstr(text, "changed during the run: 1</h2>\n<ul class=\"names\"><li>a.tfrecord</li>"));
	assert_non_null(strstr(text, "left out: 7</h2>"));
	assert_non_null(strstr(text, "b.tfrecord <span class=\"soft\">at byte 12</span>"));
	assert_non_null(strstr(text, "c.tfrecord <span class=\"soft\">from byte 34 to the end</span>"));
	assert_non_null(strstr(text, "… and 5 more"));
	assert_non_null(strstr(text, "not in the store: 9</h2>\n<ul class=\"names\"><li>model.onnx</li>"));
	assert_non_null(strstr(text, "… and 8 more"));
}

/* ---- Trials ---- */

#define SERIES                                                                                         \
	"{\"id\": \"t-series-20261122-220000\", \"state\": \"finished\", \"method\": \"list\", "       \
	"\"objective\": \"validation.accuracy\", \"direction\": \"max\", \"winner\": \"wide\", "       \
	"\"promotion\": {\"outcome\": \"kept\", \"why\": \"no gain\"}, "                               \
	"\"settings\": {\"optimizer.name\": \"adam\", \"model.layers.dense_1.units\": 64}, "           \
	"\"trials\": ["                                                                                \
	"{\"name\": \"sgd\", \"overrides\": {\"optimizer.name\": \"sgd\"}, \"state\": \"finished\", "  \
	"\"value\": 0.5, \"best_epoch\": 1, \"summary\": {\"test_accuracy\": 0.25}, \"took_s\": 61}, " \
	"{\"name\": \"wide\", \"overrides\": {\"model.layers.dense_1.units\": 512}, \"state\": "       \
	"\"finished\", "                                                                               \
	"\"value\": 0.75, \"best_epoch\": 3, \"summary\": {\"test_accuracy\": 0.5}, \"took_s\": 2, "   \
	"\"rows_per_s\": 1234.5, \"bytes\": 2500000}, "                                                \
	"{\"name\": \"bad\", \"overrides\": {\"optimizer.name\": \"sgd\"}, \"state\": \"failed\", "    \
	"\"value\": null, \"reason\": \"a NaN\"}]}"

static void test_series(void **state)
{
	static const char *const expected[] = {
		"3 trials; the best has the highest validation accuracy</p>",
		"winner: <b>wide</b>",
		"<p>the champion stays: no gain</p>",
		"<th>trial</th><th>validation accuracy</th><th>at epoch</th><th>optimizer.<wbr>name</th>",
		"<th>model.<wbr>layers.<wbr>dense_1.<wbr>units</th><th>test accuracy</th>",
		/* a row, and the beginning of the next; in parentheses because a comma is not forgotten */
		("<tr class=\"winner\"><th>wide</th><td>75.00 %</td><td>3</td><td>adam</td><td>512</td>"
		 "<td>50.00 %</td><td>2.0 s</td><td>1234</td><td>2.5</td></tr>\n<tr><th>sgd</th>"),
		"<th>bad <span class=\"level\">failed</span></th><td></td><td></td><td>sgd</td><td>64</td>",
		"<li><b>bad</b>: a NaN</li>",
		">dense_1.units</text>",
		">optimizer.name</text>",
		">validation accuracy, %</text>",
		">sgd</text>",
	};
	CLEANUP(json_free) cJSON *record = cJSON_Parse(RECORD), *series = cJSON_Parse(SERIES);
	CLEANUP(free_ptr) char *text = page_of_series(NULL, record, series);

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (!strstr(text, expected[i]))
			fail_msg("found no %s in %s", expected[i], strstr(text, "<tbody>"));
	assert_int_equal(count_of(text, "class=\"held\" stroke-opacity"), 1);
	assert_int_equal(count_of(text, "class=\"train\" stroke-opacity"), 2);
	assert_null(wrong_tag(strstr(text, "<body>")));
}

static void test_many_trials(void **state)
{
	CLEANUP(json_free) cJSON *series = cJSON_Parse(SERIES);
	cJSON *trials = cJSON_GetObjectItem(series, "trials");
	CLEANUP(free_ptr) char *text = NULL;

	(void)state;
	for (int i = 0; i < 997; i++) {
		cJSON *trial = cJSON_Duplicate(cJSON_GetArrayItem(trials, 0), true), *overrides;
		char name[32];

		(void)snprintf(name, sizeof(name), "grid-%04d", i);
		assert_non_null(cJSON_SetValuestring(cJSON_GetObjectItem(trial, "name"), name));
		(void)cJSON_SetNumberValue(cJSON_GetObjectItem(trial, "value"), i / 2000.0);
		overrides = cJSON_GetObjectItem(trial, "overrides");
		for (int key = 0; key < 12; key++) {
			(void)snprintf(name, sizeof(name), "group.key_%d", key);
			cJSON_AddNumberToObject(overrides, name, i * (key + 1) / 1000.0);
		}
		assert_true(cJSON_AddItemToArray(trials, trial));
	}
	text = page_of_series(NULL, NULL, series);
	assert_in_range(strlen(text), 30000, 90u << 10);
	assert_non_null(strstr(text, "… and 900 more trials, which are worse, and 6 more settings"));
	assert_null(wrong_tag(strstr(text, "<body>")));
}

/* The curves of ten trials: the winner and the next four have colours, and the key names the others once. */
static void test_trial_curves(void **state)
{
	CLEANUP(json_free) cJSON *series = cJSON_Parse(SERIES);
	cJSON *trials = cJSON_GetObjectItem(series, "trials");
	CLEANUP(free_ptr) char *text = NULL, *path = malloc(4096);
	char curve[128];

	(void)state;
	for (int i = 0; i < 8; i++) {
		cJSON *trial = cJSON_Duplicate(cJSON_GetArrayItem(trials, 0), true);

		(void)snprintf(curve, sizeof(curve), "<a>&%d", i);
		assert_non_null(cJSON_SetValuestring(cJSON_GetObjectItem(trial, "name"), curve));
		(void)cJSON_SetNumberValue(cJSON_GetObjectItem(trial, "value"), i / 20.0);
		assert_true(cJSON_AddItemToArray(trials, trial));
	}
	for (int i = 0; i < 10; i++) { /* the trial 10 has no curve */
		(void)snprintf(curve, sizeof(curve), "[[1,0.5],[2,null],[3,0.%d],[%d,0.75]]", 500 + i, 4 + i);
		cJSON_AddItemToObject(cJSON_GetArrayItem(trials, i), "curve", cJSON_Parse(curve));
	}
	text = page_of_series(NULL, NULL, series);
	assert_int_equal(count_of(text, "<div class=\"overlay\">"), 1);
	assert_non_null(strstr(
		text, "<figcaption><b>validation accuracy, %</b> <span class=\"key held\">wide</span>"));
	assert_int_equal(count_of(text, "<span class=\"key"), 7); /* one is the winner's, of the summary */
	assert_int_equal(count_of(text, "\">other trials</span>"), 1);
	assert_int_equal(count_of(text, "<path class=\"held\" d="), 1);
	assert_int_equal(count_of(text, "<path class=\"faint\" d="), 5);
	assert_int_equal(count_of(text, "key third\">&lt;a&gt;&amp;6</span>"), 1);
	find_path(text, 0, "dots held", path, 4096); /* only the epoch between two gaps */
	assert_int_equal(count_of(path, "h0"), 1);
	assert_null(wrong_tag(strstr(text, "<body>")));
	assert_true(strstr(text, "<path class=\"held\" d=") > strstr(text, "<path class=\"faint\" d="));
}

static const char *const wrong_series[] = {
	"{}",
	"{\"trials\": [5, null, \"a\", {\"overrides\": [1], \"value\": \"a\"}]}",
	"{\"trials\": [{\"curve\": [5, [], [1], [\"a\", null], [1, 1e999], [1e308, 2]]}, {\"curve\": 5}, "
	"{\"curve\": {\"a\": [2, 1e-308]}}]}",
	"{\"objective\": 7, \"trials\": [{\"overrides\": {\"a\": 1e308}, \"value\": 1e999}, "
	"{\"overrides\": {\"a\": -1e308}, \"value\": 1e300, \"took_s\": -1e308, \"bytes\": 1e308}]}",
	"{\"trials\": [{\"overrides\": {\"a\": 0}, \"value\": 0}, {\"overrides\": {\"a\": [[]]}, \"value\": "
	"0}]}",
	"{\"trials\": [{\"overrides\": {\"\": {}}, \"value\": -5}, {\"overrides\": {\"\": null}, \"value\": "
	"-5}]}",
};

static void test_wrong_series(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong_series) / sizeof(wrong_series[0]); i++) {
		CLEANUP(json_free) cJSON *series = cJSON_Parse(wrong_series[i]);
		CLEANUP(free_ptr) char *text = NULL;

		assert_non_null(series);
		text = page_of_series(NULL, NULL, series);
		if (wrong_tag(strstr(text, "<body>")) || !strstr(text, "</html>\n"))
			fail_msg("%s: %s", wrong_series[i], strstr(text, "<body>"));
	}
}

/* ---- Curves ---- */

/* Two classes, of which record.classes names one. */
static void test_confusion(void **state)
{
	static const char *const expected[] = {
		"1000 rows of the validation split, epoch 4.",
		"<tr><th><span>&lt;b&gt;</span></th><td class=\"r\" style=\"--a:0.63\">354</td>",
		"<td class=\"w\" style=\"--a:0.15\">46</td></tr>",
		"<tr><th><span>1</span></th><td>0</td><td class=\"r\" style=\"--a:0.70\">600</td></tr>",
		"<tr><th>&lt;b&gt;</th><td>400</td><td>100.00 %</td><td>88.50 %</td></tr>",
		"<tr><th>1</th><td>600</td><td>92.88 %</td><td>100.00 %</td></tr>",
	};
	CLEANUP(free_ptr)
	char *text = page(NULL,
			  "{\"classes\": [\"<b>\"], \"confusion\": {\"split\": \"validation\", \"epoch\": 3, "
			  "\"rows\": 1000, \"classes\": 2, \"matrix\": [[354, 46], [0, 600]]}}");

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (!strstr(text, expected[i]))
			fail_msg("%s\n%s", expected[i], strstr(text, "<body>"));
	assert_null(strstr(text, "class=\"classes pairs\""));
}

/* Of many classes the page has what run.json has: those that are confused most, and those found least. */
static void test_many_classes(void **state)
{
	CLEANUP(free_ptr)
	char *text = page(NULL, "{\"confusion\": {\"split\": \"test\", \"rows\": 9, \"classes\": 900, "
				"\"pairs\": [{\"label\": 7, "
				"\"prediction\": 8, \"rows\": 5}], \"weakest\": [{\"class\": 7, \"rows\": 8, "
				"\"precision\": 0.5, "
				"\"recall\": 0.25}]}}");

	(void)state;
	assert_non_null(strstr(text, "<tr><th>7</th><th>8</th><td>5</td></tr>"));
	assert_non_null(strstr(text, "<tr><th>7</th><td>8</td><td>50.00 %</td><td>25.00 %</td></tr>"));
	assert_null(strstr(text, "class=\"confusion"));
}

/* The largest matrix, with every cell. */
static void test_largest_matrix(void **state)
{
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	cJSON *rows = cJSON_AddArrayToObject(cJSON_AddObjectToObject(record, "confusion"), "matrix");
	CLEANUP(free_ptr) char *text = NULL;
	double row[64];

	(void)state;
	for (int i = 0; i < 64; i++)
		row[i] = 4000000000.0;
	for (int i = 0; i < 64; i++)
		cJSON_AddItemToArray(rows, cJSON_CreateDoubleArray(row, 64));
	text = page_of(NULL, record);
	assert_int_equal(count_of(text, "<td class=\"w\""), 64 * 63);
	assert_in_range(strlen(text), 100 << 10, (200 << 10) + PAGE_MAX);
}

static void test_gap(void **state)
{
	CLEANUP(free_ptr)
	char *text = page(NULL, "{\"epochs\": [{\"loss\": 4}, {\"loss\": 3}, {\"loss\": null}, {\"loss\": "
				"2}, {}, {\"loss\": 2}, "
				"{\"loss\": 1}]}");
	char path[512], dots[512];

	(void)state;
	find_path(text, 0, "train", path, sizeof(path));
	find_path(text, 0, "dots train", dots, sizeof(dots));
	assert_int_equal(count_of(path, "M"), 2); /* the value between two gaps is a dot alone */
	assert_int_equal(count_of(path, " "), 8);
	assert_int_equal(count_of(dots, "h0"), 5);
}

static void test_one_epoch(void **state)
{
	CLEANUP(free_ptr)
	char *text = page(NULL, "{\"epochs\": [{\"epoch\": 0, \"loss\": 0.5, \"accuracy\": 1}]}");
	char path[64], dots[64];

	(void)state;
	find_path(text, 0, "train", path, sizeof(path));
	find_path(text, 0, "dots train", dots, sizeof(dots));
	assert_string_equal(path, "");
	assert_string_equal(dots, "M265.0 116.0 h0"); /* in the middle */
	find_path(text, 1, "dots train", dots, sizeof(dots));
	assert_string_equal(dots, "M265.0 10.0 h0"); /* 100 % is the upper end */
}

static cJSON *many_epochs(int count)
{
	cJSON *record = cJSON_CreateObject(), *epochs = cJSON_AddArrayToObject(record, "epochs");

	for (int i = 0; i < count; i++) {
		cJSON *epoch = cJSON_CreateObject();

		assert_true(cJSON_AddItemToArray(epochs, epoch));
		cJSON_AddNumberToObject(epoch, "epoch", i);
		cJSON_AddNumberToObject(epoch, "loss", 1.0 / (1 + i) + (i * 7919 % 101) / 1000.0);
		cJSON_AddNumberToObject(epoch, "validation_loss",
					i == 2000 ? 7 : 1 + (i * 104729 % 97) / 1000.0);
		cJSON_AddNumberToObject(epoch, "accuracy", (i * 31 % 1000) / 1000.0);
		cJSON_AddNumberToObject(epoch, "validation_accuracy", (i * 17 % 1000) / 1000.0);
	}
	return record;
}

/* The page of a long run is small, and a single value that stands out is seen. */
static void test_many_epochs(void **state)
{
	CLEANUP(json_free) cJSON *record = many_epochs(4096);
	CLEANUP(free_ptr) char *text = page_of(NULL, record);
	char path[65536];

	(void)state;
	assert_in_range(strlen(text), 10000, PAGE_MAX);
	find_path(text, 0, "dots held", path, sizeof(path));
	assert_string_equal(path, "");
	find_path(text, 0, "held", path, sizeof(path));
	assert_in_range(count_of(path, " "), 800, 900); /* two numbers of two points in each of 209 columns */
	assert_non_null(strstr(path, " 16.6 "));        /* 7, on a logarithmic axis from 0.0001 to 10 */
	assert_non_null(strstr(text, ">4000</text>"));
}

/* The page is as small where thousands of epochs have no value, in any pattern. */
static void test_many_gaps(void **state)
{
	static const int every[] = { 2, 3, 5, 19, 21, 41 };

	(void)state;
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		CLEANUP(json_free) cJSON *record = many_epochs(4096);
		CLEANUP(free_ptr) char *text = NULL;
		cJSON *epoch;
		int at = 0;

		cJSON_ArrayForEach(epoch, json_member(record, "epochs")) {
			const bool gap = at++ % every[i] == 0;

			for (int figure = 1; gap && figure <= 4; figure++)
				(void)cJSON_SetNumberValue(cJSON_GetArrayItem(epoch, figure), NAN);
		}
		text = page_of(NULL, record);
		if (strlen(text) > PAGE_MAX)
			fail_msg("a gap every %d epochs: %zu bytes", every[i], strlen(text));
	}
}

/* A gap that is wider than a column of the picture is seen. */
static void test_wide_gap(void **state)
{
	CLEANUP(json_free) cJSON *record = many_epochs(4096);
	CLEANUP(free_ptr) char *text = NULL;
	char path[65536];
	cJSON *epoch;
	int at = 0;

	(void)state;
	cJSON_ArrayForEach(epoch, json_member(record, "epochs")) {
		if (at >= 1000 && at < 1100 && at != 1050)
			cJSON_DeleteItemFromObject(epoch, "loss");
		at++;
	}
	text = page_of(NULL, record);
	find_path(text, 0, "train", path, sizeof(path));
	assert_int_equal(count_of(path, "M"), 2);
	find_path(text, 0, "dots train", path, sizeof(path));
	assert_int_equal(count_of(path, "h0"), 1);
}

/* ---- What comes from outside ---- */

static void spoil(cJSON *json, const char *text)
{
	cJSON *child;

	if (cJSON_IsString(json))
		assert_non_null(cJSON_SetValuestring(json, text));
	cJSON_ArrayForEach(child, json)
		spoil(child, text);
}

/* Every text of a record and of a report may be hostile. */
static void test_escaped(void **state)
{
	static const char hostile[] = "\"><script>alert('1')</script>&amp;<!--";
	CLEANUP(json_free) cJSON *report = cJSON_Parse(REPORT), *record = cJSON_Parse(RECORD);
	CLEANUP(json_free) cJSON *series = cJSON_Parse(SERIES), *fine = cJSON_Parse(RECORD);
	CLEANUP(free_ptr) char *good = NULL, *text = NULL;

	(void)state;
	(void)cJSON_AddStringToObject(cJSON_GetObjectItem(series, "settings"), hostile, "");
	good = page_of_series(report, fine, series);
	spoil(report, hostile);
	spoil(record, hostile);
	spoil(cJSON_GetObjectItem(series, "settings"), hostile);
	spoil(cJSON_GetObjectItem(series, "promotion"), hostile);
	text = page_of_series(report, record, series);
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<!--"));
	assert_non_null(
		strstr(text, "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;&lt;!--"));
	assert_int_equal(count_of(text, "<"), count_of(good, "<"));
	assert_int_equal(count_of(text, "\""), count_of(good, "\""));
}

static const struct {
	const char *label, *record;
} wrong[] = {
	{ "nothing", "{}" },
	{ "other types",
	  "{\"epochs\": 5, \"id\": 5, \"name\": {}, \"time\": [], \"metrics\": 7, \"classes\": \"a\"}" },
	{ "epochs of other types",
	  "{\"epochs\": [5, null, \"a\", [], {\"loss\": \"a\", \"epoch\": \"b\"}]}" },
	{ "no finite numbers", "{\"epochs\": [{\"loss\": 1e999}, {\"loss\": -1e999}]}" },
	{ "the ends of a double",
	  "{\"epochs\": [{\"loss\": 1e308, \"epoch\": -1e308}, {\"loss\": -1e308, \"epoch\": 1e308}, "
	  "{\"loss\": 1e300, \"epoch\": -1e300}, {\"loss\": -1e300, \"epoch\": 1e300}]}" },
	{ "losses below zero, and zero", "{\"epochs\": [{\"loss\": -5}, {\"loss\": 0}, {\"loss\": 1000}]}" },
	{ "a confusion matrix of other types",
	  "{\"classes\": [5, {}], \"confusion\": {\"rows\": [], \"split\": 5, "
	  "\"epoch\": \"a\", \"matrix\": [[1, 2], [0, 0]]}}" },
	{ "confused classes of other types",
	  "{\"confusion\": {\"rows\": 1e999, \"epoch\": 1e999, \"pairs\": [5, {}, "
	  "{\"label\": -1e300, \"prediction\": 1e300, \"rows\": 1e999}], \"weakest\": [null, {\"class\": "
	  "1e999, "
	  "\"recall\": \"a\"}]}}" },
	{ "backwards", "{\"epochs\": [{\"loss\": 1, \"epoch\": 9}, {\"loss\": 2, \"epoch\": 3}]}" },
	{ "times without sense",
	  "{\"started_s\": 1e300, \"time\": {\"training_s\": -1, \"waiting_s\": 1e999}}" },
};

/* A run.json may come from a store: whatever it holds, no picture has a number that a browser refuses. */
static void test_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CLEANUP(free_ptr) char *text = page("{}", wrong[i].record);
		const char *tag = wrong_tag(strstr(text, "<body>"));

		if (tag || !strstr(text, "</html>\n"))
			fail_msg("%s: %s", wrong[i].label, tag ? tag : "the page does not end");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_night),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_failed_without_epochs),
		cmocka_unit_test(test_never_started),
		cmocka_unit_test(test_no_accuracy),
		cmocka_unit_test(test_warnings_and_lists),
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_many_trials),
		cmocka_unit_test(test_trial_curves),
		cmocka_unit_test(test_wrong_series),
		cmocka_unit_test(test_confusion),
		cmocka_unit_test(test_many_classes),
		cmocka_unit_test(test_largest_matrix),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_one_epoch),
		cmocka_unit_test(test_many_epochs),
		cmocka_unit_test(test_many_gaps),
		cmocka_unit_test(test_wide_gap),
		cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

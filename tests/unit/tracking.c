/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of metrics for the tracking server, what it is told of a run, and the note of a champion. */
#include "uploadd/tracking/about.c"   // NOLINT(bugprone-suspicious-include)
#include "uploadd/tracking/files.c"   // NOLINT(bugprone-suspicious-include)
#include "uploadd/tracking/journal.c" // NOLINT(bugprone-suspicious-include)

#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define RUN "t-20260101-010203"

static void add(struct journal *journal, enum journal_kind kind, uint64_t n, const char *key, double value)
{
	cJSON *values = cJSON_CreateObject();
	struct error err;

	(void)cJSON_AddNumberToObject(values, key, value);
	assert_int_equal(journal_add(journal, kind, n, 1700000000123, values, &err), 0);
}

static void read_from(uint64_t offset, struct journal_batch *batch)
{
	struct error err;

	assert_int_equal(journal_read(RUN, offset, batch, &err), 0);
}

/* A step that was there is left out, whatever a restarted trainer says of it. */
static void test_journal(void **state)
{
	CLEANUP(free_ptr) struct journal_batch *batch = calloc(1, sizeof(*batch));
	struct journal journal;
	struct error err;

	(void)state;
	assert_int_equal(journal_open(RUN, &journal, &err), 0);
	add(&journal, JOURNAL_STEP, 10, "batch_loss", 0.5);
	add(&journal, JOURNAL_STEP, 20, "batch_loss", 0.25);
	add(&journal, JOURNAL_TRAIN, 1, "train.loss", 0.125);
	journal_close(&journal);

	assert_int_equal(journal_open(RUN, &journal, &err), 0);
	assert_false(journal_wants(&journal, JOURNAL_STEP, 20));
	assert_true(journal_wants(&journal, JOURNAL_STEP, 21));
	add(&journal, JOURNAL_STEP, 10, "batch_loss", 7);
	add(&journal, JOURNAL_TRIAL, 3, "validation.loss", 1);
	assert_true(journal_wants(&journal, JOURNAL_TRIAL, 1));
	assert_false(journal_wants(&journal, JOURNAL_TRIAL, 3));
	assert_false(journal_wants(&journal, JOURNAL_TRIAL, JOURNAL_TRIALS));
	assert_int_equal(journal_sync(&journal, &err), 0);
	journal_close(&journal);

	read_from(0, batch);
	assert_int_equal(batch->count, 4);
	assert_string_equal(batch->metric[2].key, "train.loss");
	assert_true(batch->metric[1].value == 0.25 && batch->metric[1].step == 20);
	assert_int_equal(batch->metric[0].at_ms, 1700000000123);
	read_from(batch->next, batch);
	assert_int_equal(batch->count, 0);
	read_from(1 << 20, batch);
	assert_int_equal(batch->count, 0);
}

/* A batch never has more than the server takes, and the batches together have each value once. */
static void test_batches(void **state)
{
	CLEANUP(free_ptr) struct journal_batch *batch = calloc(1, sizeof(*batch));
	struct journal journal;
	uint64_t offset = 0, seen = 0;
	struct error err;

	(void)state;
	assert_int_equal(journal_open(RUN, &journal, &err), 0);
	for (uint64_t n = 0; n < 1700; n++) {
		cJSON *values = cJSON_CreateObject();

		(void)cJSON_AddNumberToObject(values, "a", (double)n);
		(void)cJSON_AddStringToObject(values, "b", "nan");
		(void)cJSON_AddStringToObject(values, "c", "-inf");
		assert_int_equal(journal_add(&journal, JOURNAL_STEP, n, 1, values, &err), 0);
	}
	journal_close(&journal);
	for (read_from(0, batch); batch->count > 0; read_from(offset, batch)) {
		assert_true(batch->count <= MLFLOW_METRICS_MAX);
		for (uint32_t i = 0; i < batch->count; i += 3, seen++) {
			assert_true(batch->metric[i].value == (double)seen &&
				    isnan(batch->metric[i + 1].value));
			assert_true(batch->metric[i + 2].value == -INFINITY);
		}
		offset = batch->next;
	}
	assert_int_equal(seen, 1700);
}

/* Cut at any byte: whole lines stay, and the next point follows them. */
static void test_torn(void **state)
{
	CLEANUP(free_ptr) struct journal_batch *batch = calloc(1, sizeof(*batch));
	char path[PATH_BYTES];
	struct journal journal;
	struct error err;
	uint64_t bytes;

	(void)state;
	assert_int_equal(journal_open(RUN, &journal, &err), 0);
	add(&journal, JOURNAL_STEP, 1, "a", 1);
	add(&journal, JOURNAL_STEP, 2, "a", 2);
	bytes = journal.bytes;
	journal_close(&journal);
	for (uint64_t cut = bytes - 1; cut > bytes / 2; cut--) {
		assert_int_equal(truncate(tracking_path(RUN, JOURNAL_NAME, path), (off_t)cut), 0);
		assert_int_equal(journal_open(RUN, &journal, &err), 0);
		add(&journal, JOURNAL_STEP, 2, "a", 2);
		journal_close(&journal);
		read_from(0, batch);
		assert_int_equal(batch->count, 2);
		assert_int_equal(batch->next, bytes);
	}
}

static void assert_text(const cJSON *object, const char *key, const char *expected)
{
	assert_string_equal(files_text(object, key), expected);
}

static void test_about(void **state)
{
	CLEANUP(json_free)
	cJSON *record = cJSON_Parse(
		"{\"state\":\"pruned\",\"kiln_version\":\"1\",\"overrides\":{\"optimizer.name\":\"adam\"},"
		"\"series\":{\"id\":\"s-1\",\"trial\":\"adam\"},"
		"\"config\":\"run: { name = \\\"t\\\"; epochs = 7; };\\nsource: { url = \\\"file:///d\\\"; "
		"};\\n"
		"sink: { url = \\\"s3://bkt/runs/\\\"; };\\nnotify: { wait_min = 3; };\"}");
	struct run run = { .id = RUN, .started_s = 1700000000 };
	CLEANUP(json_free) cJSON *about = NULL;
	CLEANUP(json_free) cJSON *now = NULL;
	const cJSON *params, *tags;

	(void)state;
	run.config.tracking.url = "http://m";
	run.config.tracking.credential = run.config.tracking.ca_file = run.config.tracking.experiment = "";
	run.config.run.name = "t";
	run.config.sink.url = "s3://bkt/runs/";
	about = about_run(&run, record);
	params = cJSON_GetObjectItemCaseSensitive(about, "params");
	assert_text(about, "experiment", "t");
	assert_text(about, "series", "s-1");
	assert_text(params, "run.epochs", "7");
	assert_text(params, "optimizer.name", "adam"); /* the default, which the trial gives */
	assert_text(params, "model.layers.dense.units", "256");
	assert_text(params, "notify.wait_min", "");
	assert_text(params, "sink.url", "");
	now = about_run_now(&run, record, 1234);
	tags = cJSON_GetObjectItemCaseSensitive(now, "tags");
	assert_text(now, "status", "killed");
	assert_true(files_number(now, "ended_ms") == 1234);
	assert_text(tags, "kiln.trial", "adam");
	assert_text(tags, "kiln.url", "s3://bkt/runs/" RUN);
	assert_text(tags, "kiln.model_url", "");
}

static int note_name(void *context, const char *name)
{
	(void)snprintf(context, PATH_BYTES, "%s", name);
	return 0;
}

static void test_champion(void **state)
{
	struct tracking_champion champion = { "mail", RUN, "s3://bkt/models/mail/saved_model/3", 3 };
	struct config config = { 0 };
	CLEANUP(json_free) cJSON *json = NULL;
	char name[PATH_BYTES] = "", path[PATH_BYTES];
	struct error err;

	(void)state;
	config.run.name = "mail";
	config.tracking.url = config.tracking.credential = config.tracking.ca_file =
		config.tracking.experiment = "";
	assert_int_equal(tracking_champion(&config, &champion, &err), 0);
	config.tracking.url = "http://m";
	champion.source = "file:///runs/models/mail/saved_model/3";
	assert_int_equal(tracking_champion(&config, &champion, &err), 0);
	assert_int_equal(tracking_each_champion(note_name, name, &err), 0);
	assert_string_equal(name, ""); /* no server, or a source that the server refuses */
	champion.source = "s3://bkt/models/mail/saved_model/3";
	assert_int_equal(tracking_champion(&config, &champion, &err), 0);
	assert_int_equal(tracking_each_champion(note_name, name, &err), 0);
	assert_int_equal(json_read(tracking_champion_path(name, path), TRACKING_CHAMPION_BYTES, &json, &err),
			 0);
	assert_text(json, "experiment", "mail");
	assert_text(json, "run", RUN);
	assert_true(files_number(json, "number") == 3);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(test_journal), IN_SCRATCH(test_batches),  IN_SCRATCH(test_torn),
		IN_SCRATCH(test_about),   IN_SCRATCH(test_champion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a series that kiln-uploadd puts is the one of before its pass over the runs. */
#include "uploadd/pause.c"        // NOLINT(bugprone-suspicious-include): not of a library
#include "uploadd/series.c"       // NOLINT(bugprone-suspicious-include): not of a library
#include "uploadd/series_stage.c" // NOLINT(bugprone-suspicious-include): not of a library

#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char night[] =
	"run: { name = \"t\"; epochs = 4; batch_rows = 32; };\n"
	"source: { url = \"file://%1$s/data\"; };\n"
	"sink: { url = \"file://%1$s/sink\"; };\n"
	"schema = ( { name = \"sentence\"; dtype = \"float32\"; shape = [ 8 ]; },\n"
	"           { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"
	"model: { layers = ( { op = \"dense\"; units = 2; }, { op = \"softmax\"; } ); };\n";

/* The test has no watchdog. */
void upload_renew_lease(void *worker)
{
	(void)worker;
}

/* Returns a new series whose sink is a folder of this node. */
static cJSON *begin(void)
{
	cJSON *series = cJSON_Parse("{\"method\": \"grid\", \"objective\": \"validation.accuracy\","
				    " \"direction\": \"max\", \"config\": \"\", \"winner\": null,"
				    " \"trials\": [{\"name\": \"a\", \"overrides\": {}, \"run\": \"\","
				    " \"state\": \"waiting\", \"value\": null}]}");
	char text[2048], path[PATH_BYTES];
	struct error err = { 0 };

	(void)snprintf(text, sizeof(text), night, getenv("KILN_ROOT"));
	if (series_create("t", series, &err) < 0 ||
	    file_write_durable(series_file(series_id(series), SERIES_CONFIG_FILE, path), text, strlen(text),
			       &err) < 0)
		fail_msg("%s", err.text);
	return series;
}

static void note(cJSON *series, enum trial_state state)
{
	struct error err = { 0 };

	trial_set_state(series_trial(series, 0), state);
	if (series_write(series, &err) < 0)
		fail_msg("%s", err.text);
}

/* Returns the state of the first trial in the record of the store; TRIAL_STATE_MAX: it has no record. */
static enum trial_state stored(const cJSON *series)
{
	CLEANUP(json_free) cJSON *there = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES], key[SERIES_KEY_BYTES];
	struct error err = { 0 };
	uint64_t bytes;

	(void)snprintf(path, sizeof(path), "%s/sink/%s", getenv("KILN_ROOT"),
		       series_key(series_id(series), key));
	if (file_read(path, SERIES_JSON_MAX, &text, &bytes, NULL) < 0)
		return TRIAL_STATE_MAX;
	if (series_parse(path, text, bytes, &there, &err) < 0)
		fail_msg("%s", err.text);
	return trial_state_of(series_trial(there, 0));
}

static void put_all(struct series_records *records)
{
	struct error err = { 0 };

	if (series_upload(records, NULL, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_record_of_before_the_pass_is_put(void **state)
{
	CLEANUP(json_free) cJSON *series = begin();
	struct series_records records = { 0 };
	struct error err = { 0 };

	(void)state;
	note(series, TRIAL_RUNNING);
	assert_int_equal(series_read(&records, &err), 0);
	note(series, TRIAL_FINISHED); /* in the middle of the pass, which may have no file of its end */
	put_all(&records);
	assert_int_equal(stored(series), TRIAL_RUNNING);

	assert_int_equal(series_read(&records, &err), 0);
	put_all(&records);
	assert_int_equal(stored(series), TRIAL_FINISHED);

	assert_int_equal(series_read(&records, &err), 0);
	assert_int_equal(records.count, 0);
	series_forget(&records);
}

static void test_record_that_is_too_large_holds_up_no_other(void **state)
{
	CLEANUP(json_free) cJSON *series = begin();
	struct series_records records = { 0 };
	struct error err = { 0 };
	char path[PATH_BYTES];

	(void)state;
	assert_int_equal(truncate(series_path(series_id(series), path), SERIES_JSON_MAX + 1), 0);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(series_read(&records, &err), 0);
		assert_int_equal(records.count, 0);
	}
	note(series, TRIAL_RUNNING);
	assert_int_equal(series_read(&records, &err), 0);
	assert_int_equal(records.count, 1);
	series_forget(&records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_record_of_before_the_pass_is_put, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_record_that_is_too_large_holds_up_no_other,
						scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

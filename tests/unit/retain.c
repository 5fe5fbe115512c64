/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which checkpoints belong into the store, which one is the best, and what is deleted where. */
#include "uploadd/retain.c" // NOLINT(bugprone-suspicious-include): its statics
#include "tests/unit/scratch.h"
#include "uploadd/steps.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Parses steps, "1 2 3". */
static struct steps steps_of(const char *text)
{
	struct steps steps = { 0 };
	struct error err;

	while (*text) {
		char *end;

		assert_int_equal(steps_add(&steps, strtoull(text, &end, 10), &err), 0);
		text = end + strspn(end, " ");
	}
	return steps;
}

static void test_steps(void **state)
{
	struct steps steps = steps_of("1 2 2 3 2");

	(void)state;
	assert_int_equal(steps.count, 3);
	steps_remove(&steps, 1);
	assert_false(steps_has(&steps, 1));
	assert_true(steps_has(&steps, 2) && steps_has(&steps, 3));
	steps_remove(&steps, 7);
	assert_int_equal(steps.count, 2);
	steps_done(&steps);
	assert_false(steps_has(&steps, 2));
}

static void test_wanted(void **state)
{
	static const struct {
		const char *label, *stored, *local;
		uint64_t keep;
		int64_t best; /* step of the best checkpoint; -1 = none */
		const char *wanted;
	} cases[] = {
		{ "nothing yet", "", "", 2, -1, "" },
		{ "all fit", "", "10 20", 3, -1, "10 20" },
		{ "the newest of the spool", "", "10 20 30", 2, -1, "20 30" },
		{ "the newest of both", "10 20", "30", 2, -1, "20 30" },
		{ "in both places counts once", "10 20 30", "20 30", 2, -1, "20 30" },
		{ "the best stays beyond the newest", "10 20", "30 40", 2, 10, "10 30 40" },
		{ "the best is among the newest", "10 20", "30 40", 2, 40, "30 40" },
		{ "one alone, and the best", "10 20 30", "", 1, 20, "20 30" },
		{ "a trainer went back: the store is ahead", "100", "50 60", 2, -1, "60 100" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct upload upload = { .stored = steps_of(cases[i].stored),
					 .any_best = cases[i].best >= 0,
					 .best = (uint64_t)cases[i].best };
		struct steps local = steps_of(cases[i].local), wanted = steps_of(cases[i].wanted);

		upload.run.config.checkpoint.keep = cases[i].keep;
		for (uint64_t step = 10; step <= 100; step += 10) {
			bool exists = steps_has(&upload.stored, step) || steps_has(&local, step);

			if (exists && retain_wants(&upload, &local, step) != steps_has(&wanted, step))
				fail_msg("%s: step %llu", cases[i].label, (unsigned long long)step);
		}
		steps_done(&upload.stored);
		steps_done(&local);
		steps_done(&wanted);
	}
}

#define EPOCH(step, loss, accuracy, validation_loss, validation_accuracy) \
	"{\"step\":" step ",\"loss\":" loss ",\"accuracy\":" accuracy     \
	",\"validation_loss\":" validation_loss ",\"validation_accuracy\":" validation_accuracy "}"

static void test_best(void **state)
{
	static const char epochs[] = "{\"epochs\":[" EPOCH("1", "9", "0.1", "0.5", "0.7") "," EPOCH(
		"2", "8", "0.2", "0.4", "0.8") "," EPOCH("3", "7", "0.9", "0.3",
							 "0.8") "," EPOCH("4", "6", "0.3", "0.6", "0.6") "]}";
	static const struct {
		const char *label, *record;
		int monitor;
		bool any;
		uint64_t best;
	} cases[] = {
		{ "no record", "{}", MONITOR_NONE, false, 0 },
		{ "no epoch yet", "{\"epochs\":[]}", MONITOR_NONE, false, 0 },
		{ "accuracy, then the lower loss", epochs, MONITOR_NONE, true, 3 },
		{ "by loss", epochs, MONITOR_LOSS, true, 4 },
		{ "by accuracy", epochs, MONITOR_ACCURACY, true, 3 },
		{ "by validation loss", epochs, MONITOR_VAL_LOSS, true, 3 },
		{ "of equal ones the first", epochs, MONITOR_VAL_ACCURACY, true, 2 },
		{ "an epoch without validation is passed over",
		  "{\"epochs\":[{\"step\":1,\"loss\":1,\"accuracy\":1}]}", MONITOR_NONE, false, 0 },
		{ "a loss without an accuracy",
		  "{\"epochs\":[{\"step\":1,\"loss\":3,\"validation_loss\":2},"
		  "{\"step\":2,\"loss\":2,\"validation_loss\":1}]}",
		  MONITOR_NONE, true, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *record = cJSON_Parse(cases[i].record);
		struct upload upload = { .any_best = true, .best = 77 };

		assert_non_null(record);
		upload.run.config.keep_best.monitor = cases[i].monitor;
		retain_find_best(&upload, record);
		if (upload.any_best != cases[i].any || (cases[i].any && upload.best != cases[i].best))
			fail_msg("%s: found step %llu", cases[i].label, (unsigned long long)upload.best);
	}
}

/* ---- Deleting ---- */

static void touch_checkpoint(const char *run_id, uint64_t step)
{
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES];
	FILE *file = fopen(spool_path(run_id, spool_checkpoint_name(step, name), path), "w");

	assert_non_null(file);
	(void)fclose(file);
}

static bool is_in_spool(const char *run_id, uint64_t step)
{
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES];

	return access(spool_path(run_id, spool_checkpoint_name(step, name), path), F_OK) == 0;
}

static void test_trim_spool(void **state)
{
	static const struct {
		const char *label, *stored, *local, *left;
	} cases[] = {
		{ "the newest two stay", "10 20 30 40", "10 20 30 40", "30 40" },
		{ "what the store is still to have stays", "10", "20 30 40", "20 30 40" },
		{ "what is not wanted goes without the store", "", "10 20 30 40 50", "30 40 50" },
		{ "two are never trimmed", "10 20", "10 20", "10 20" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct upload upload = { .stored = steps_of(cases[i].stored) };
		struct steps local = steps_of(cases[i].local), left = steps_of(cases[i].left);
		struct error err;

		(void)snprintf(upload.run.id, sizeof(upload.run.id), "night-20260101-02300%zu", i);
		upload.run.config.checkpoint.keep = 3;
		assert_int_equal(spool_make(upload.run.id, &err), 0);
		for (uint32_t k = 0; k < local.count; k++)
			touch_checkpoint(upload.run.id, local.step[k]);
		assert_int_equal(retain_trim_spool(&upload, &local, &err), 0);
		for (uint64_t step = 10; step <= 50; step += 10)
			if (is_in_spool(upload.run.id, step) != steps_has(&left, step))
				fail_msg("%s: step %llu", cases[i].label, (unsigned long long)step);
		steps_done(&upload.stored);
		steps_done(&local);
		steps_done(&left);
	}
}

static void test_trim_store(void **state)
{
	const struct config_store where = { .url = (char[96]){ 0 } };
	struct upload upload = { .any_latest = true, .latest = 30 };
	struct steps local = { 0 };
	struct store_object object;
	char name[SPOOL_NAME_BYTES];
	struct error err;

	(void)state;
	(void)snprintf((char *)where.url, 96, "file://%s/store", root);
	assert_int_equal(store_open(&where, NULL, &upload.store, &err), 0);
	for (uint64_t step = 10; step <= 40; step += 10) {
		assert_int_equal(store_put(upload.store, spool_checkpoint_name(step, name), "x", 1, &err), 0);
		assert_int_equal(steps_add(&upload.stored, step, &err), 0);
	}
	/* keep = 1 keeps only 40; latest.json names 30. */
	upload.run.config.checkpoint.keep = 1;
	assert_int_equal(retain_apply(&upload, &local, &err), 0);
	for (uint64_t step = 10; step <= 40; step += 10) {
		int r = store_stat(upload.store, spool_checkpoint_name(step, name), &object, &err);

		assert_int_equal(r, step < 30 ? -ENOENT : 0);
		assert_int_equal(steps_has(&upload.stored, step), step >= 30);
	}
	steps_done(&upload.stored);
	store_close(upload.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_best),
		cmocka_unit_test_setup_teardown(test_trim_spool, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_trim_store, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

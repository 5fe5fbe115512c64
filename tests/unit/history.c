/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the metrics of each pass of a run (a training or validation epoch). Includes traind's .c file,
 * because no library has it. */
#include "traind/history.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "core/run/run_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_passes_before_a_cursor(void **state)
{
	static const struct {
		const char *label;
		struct cursor cursor;
		uint64_t train, validation;
	} cases[] = {
		{ "fresh", { .split = SPLIT_TRAIN, .segment = 0 }, 0, 0 },
		{ "in epoch 3", { .split = SPLIT_TRAIN, .segment = 2, .batch = 9 }, 2, 2 },
		{ "in validation 3", { .split = SPLIT_VALIDATION, .segment = 2 }, 3, 2 },
		{ "in the test pass", { .split = SPLIT_TEST, .segment = 0 }, 5, 5 },
		{ "ended", { .split = SPLIT_TRAIN, .segment = 4, .ended = 1 }, 5, 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (history_passes(&cases[i].cursor, 5, SPLIT_TRAIN) != cases[i].train ||
		    history_passes(&cases[i].cursor, 5, SPLIT_VALIDATION) != cases[i].validation)
			fail_msg("%s", cases[i].label);
	}
}

static struct history load(const char *text, uint64_t passes)
{
	CLEANUP(json_free) cJSON *record = cJSON_Parse(text);
	struct history history = { 0 };
	struct error err;

	assert_non_null(record);
	assert_int_equal(history_load(&history, record, passes, &err), 0);
	return history;
}

static void add(struct history *history, enum split split, uint64_t epoch, double loss, double accuracy)
{
	const struct model_metrics metrics = {
		.loss = loss, .accuracy = accuracy, .top_k = 0.75, .rows = 10
	};
	const struct history_pass pass = { .split = split,
					   .epoch = epoch,
					   .step = 100 * (epoch + 1),
					   .at_ms = 7000 + epoch,
					   .learning_rate = 0.5,
					   .metrics = &metrics };

	assert_true(history_add(history, &pass));
}

static void expect(const cJSON *json, const char *text)
{
	char *found = cJSON_PrintUnformatted(json);

	assert_string_equal(found, text);
	cJSON_free(found);
}

static void test_epoch_and_validation(void **state)
{
	struct history history = load("{}", 0);

	(void)state;
	add(&history, SPLIT_TRAIN, 0, 0.25, 0.5);
	add(&history, SPLIT_VALIDATION, 0, 0.125, 0.5);
	add(&history, SPLIT_TEST, 0, 2, 0.5);
	expect(history.epochs, "[{\"epoch\":0,\"step\":100,\"at_ms\":7000,\"loss\":0.25,\"accuracy\":0.5,"
			       "\"learning_rate\":0.5,"
			       "\"validation_loss\":0.125,\"validation_accuracy\":0.5}]");
	expect(history.metrics, "{\"train\":{\"loss\":0.25,\"accuracy\":0.5,\"rows\":10},"
				"\"validation\":{\"loss\":0.125,\"accuracy\":0.5,\"rows\":10},"
				"\"test\":{\"loss\":2,\"accuracy\":0.5,\"rows\":10}}");
	history_close(&history);
}

/* Three cases: a loss without an accuracy; a loss larger than JSON holds exactly; model.top_k. */
static void test_figures_that_a_loss_has(void **state)
{
	struct history history = load("{}", 0);

	(void)state;
	history.top_k = true;
	add(&history, SPLIT_TRAIN, 0, 1e300, NAN);
	assert_true(history_figures(&history, 0).loss == NUMBER_MAX);
	assert_true(isnan(history_figures(&history, 0).accuracy));
	add(&history, SPLIT_VALIDATION, 0, 1, NAN);
	expect(cJSON_GetObjectItem(history.metrics, "validation"),
	       "{\"loss\":1,\"top_k_accuracy\":0.75,\"rows\":10}");
	history_close(&history);
}

/* Epochs after the checkpoint's cursor are dropped and trained again; the last metrics stay. */
static void test_load_drops_later_epochs(void **state)
{
	static const char text[] = "{\"epochs\": [{\"epoch\":0,\"loss\":3}, {\"epoch\":1,\"loss\":2},"
				   " {\"epoch\":2,\"loss\":1}], \"metrics\": {\"train\": {\"loss\": 1}}}";
	struct history history = load(text, 2);

	(void)state;
	expect(history.epochs, "[{\"epoch\":0,\"loss\":3},{\"epoch\":1,\"loss\":2}]");
	expect(history.metrics, "{\"train\":{\"loss\":1}}");
	assert_true(history_figures(&history, 1).loss == 2);
	assert_true(isnan(history_figures(&history, 2).loss));
	assert_true(isnan(history_figures(&history, 1).validation_loss));
	history_close(&history);
}

static void expect_bounded(const struct history *history, uint64_t last, uint64_t best)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct error err;
	const cJSON *entry, *before = NULL;
	uint64_t number;

	assert_int_equal(json_print(history->epochs, &text, &err), 0);
	assert_true(strlen(text) < 2u << 20); /* half of what the readers of run.json take */
	assert_true(cJSON_GetArraySize(history->epochs) > 1000);
	assert_true(run_epochs_done(history->epochs) == last + 1);
	assert_non_null(history_from(history->epochs, 0, &number));
	assert_true(number == 0);
	assert_non_null(history_from(history->epochs, best, &number));
	assert_true(number == best);
	assert_true(history_figures(history, last).validation_loss > 0);
	assert_null(history_from(history->epochs, last + 1, &number));
	cJSON_ArrayForEach(entry, history->epochs) {
		assert_true(!before || number_of(entry) > number_of(before));
		before = entry;
	}
}

/* The list of a long run has a bound. Its first, best and last epoch stay. */
static void test_long_run(void **state)
{
	const uint64_t epochs = 20000, best = 3333;
	struct history history = load("{}", 0), again = { 0 };
	cJSON *record = cJSON_CreateObject();
	struct error err;

	(void)state;
	history.top_k = true;
	for (uint64_t epoch = 0; epoch < epochs; epoch++) {
		add(&history, SPLIT_TRAIN, epoch, 1 + 1.0 / (double)(epoch + 3), 1.0 / 3);
		add(&history, SPLIT_VALIDATION, epoch, epoch == best ? 1.0 / 9 : 1.0 / 7, 1.0 / 3);
	}
	expect_bounded(&history, epochs - 1, best);

	/* What a checkpoint in the middle of the list covers stays. */
	assert_true(cJSON_AddItemToObject(record, "epochs", cJSON_Duplicate(history.epochs, true)));
	assert_int_equal(history_load(&again, record, epochs - 100, &err), 0);
	expect_bounded(&again, epochs - 101, best);
	history_close(&again);
	cJSON_Delete(record);
	history_close(&history);
}

/* A list of a version that kept every epoch is thinned when it is loaded. */
static void test_load_thins(void **state)
{
	cJSON *record = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(record, "epochs");
	struct history history = { 0 };
	struct error err;

	(void)state;
	for (int epoch = 0; epoch < 15000; epoch++) {
		cJSON *entry = cJSON_CreateObject();

		assert_true(cJSON_AddItemToArray(list, entry) &&
			    cJSON_AddNumberToObject(entry, "epoch", epoch) &&
			    cJSON_AddNumberToObject(entry, "validation_loss", epoch == 5001 ? 1 : 2));
	}
	assert_int_equal(history_load(&history, record, 15000, &err), 0);
	assert_true(cJSON_GetArraySize(history.epochs) <= HISTORY_EPOCHS_MAX);
	expect_bounded(&history, 14999, 5001);
	history_close(&history);
	cJSON_Delete(record);
}

static void test_load_refuses(void **state)
{
	static const char *const texts[] = { "{\"epochs\": {}}", "{\"metrics\": []}", "{\"epochs\": 3}" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(json_free) cJSON *record = cJSON_Parse(texts[i]);
		struct history history = { 0 };
		struct error err;

		assert_int_equal(history_load(&history, record, 1, &err), -EBADMSG);
		history_close(&history);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes_before_a_cursor),
		cmocka_unit_test(test_epoch_and_validation),
		cmocka_unit_test(test_figures_that_a_loss_has),
		cmocka_unit_test(test_load_drops_later_epochs),
		cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_load_thins),
		cmocka_unit_test(test_load_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the metrics of each pass of a run (a training or validation epoch). Includes traind's .c file,
 * because no library has it. */
#include "traind/history.c" // NOLINT(bugprone-suspicious-include): not of a library

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
	expect(history.epochs,
	       "[{\"epoch\":0,\"step\":100,\"loss\":0.25,\"accuracy\":0.5,\"learning_rate\":0.5,"
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
	static const char text[] = "{\"epochs\": [{\"loss\": 3}, {\"loss\": 2}, {\"loss\": 1}],"
				   " \"metrics\": {\"train\": {\"loss\": 1}}}";
	struct history history = load(text, 2);

	(void)state;
	expect(history.epochs, "[{\"loss\":3},{\"loss\":2}]");
	expect(history.metrics, "{\"train\":{\"loss\":1}}");
	assert_true(history_figures(&history, 1).loss == 2);
	assert_true(isnan(history_figures(&history, 2).loss));
	assert_true(isnan(history_figures(&history, 1).validation_loss));
	history_close(&history);
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
		cmocka_unit_test(test_load_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

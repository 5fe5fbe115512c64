/* SPDX-License-Identifier: Apache-2.0 */
/* A report made of facts that the test gives: outcome, reason, curves, sentence, and the faults among the
 * events. */
#include "core/box/reports.h"
#include "oneshot/report/faults.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/report/make.c"   // NOLINT(bugprone-suspicious-include)
#include "oneshot/report/series.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
	const char *label, *id, *unbegun;
	enum run_state state;
	const char *outcome;
} outcomes[] = {
	{ "no run", "", NULL, RUN_RUNNING, "never_started" },
	{ "an earlier run, and begin failed", "n-1", "no credential", RUN_EXPIRED, "never_started" },
	{ "finished", "n-1", NULL, RUN_FINISHED, "finished" },
	{ "failed", "n-1", NULL, RUN_FAILED, "failed" },
	{ "its night is over", "n-1", NULL, RUN_EXPIRED, "expired" },
	{ "by hand", "n-1", NULL, RUN_STOPPED, "stopped" },
	{ "a service ended for good", "n-1", NULL, RUN_RUNNING, "halted" },
	{ "while it was paused", "n-1", NULL, RUN_PAUSED, "halted" },
};

static void test_outcomes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		char unbegun[64];
		struct facts facts = { .run.state = outcomes[i].state };

		(void)snprintf(facts.run.id, sizeof(facts.run.id), "%s", outcomes[i].id);
		(void)snprintf(unbegun, sizeof(unbegun), "%s",
			       outcomes[i].unbegun ? outcomes[i].unbegun : "");
		facts.unbegun = outcomes[i].unbegun ? unbegun : NULL;
		if (strcmp(outcome_of(&facts), outcomes[i].outcome) != 0)
			fail_msg("%s: found %s, expected %s", outcomes[i].label, outcome_of(&facts),
				 outcomes[i].outcome);
	}
}

/* Slot 0 has parked its trial: the night has a series, and no run. */
static void test_outcome_of_a_series(void **state)
{
	CLEANUP(json_free) cJSON *series = cJSON_Parse("{\"state\": \"running\"}");
	struct facts facts = { .series = series };
	char unbegun[] = "no credential";

	(void)state;
	assert_string_equal(outcome_of(&facts), "halted");
	series_set_state(series, SERIES_EXPIRED);
	assert_string_equal(outcome_of(&facts), "expired");
	series_set_state(series, SERIES_STOPPED);
	assert_string_equal(outcome_of(&facts), "stopped");
	facts.unbegun = unbegun;
	assert_string_equal(outcome_of(&facts), "never_started");
}

/* Priority of reasons: what was noted for the night, then the record, then the failure of begin. */
static void test_reasons(void **state)
{
	CLEANUP(json_free) cJSON *record = cJSON_Parse("{\"reason\": \"of the record\"}");
	struct tonight tonight = { .reason = "of the night" };
	char unbegun[] = "of begin";
	struct facts facts = { .tonight = &tonight, .record = record, .unbegun = unbegun };

	(void)state;
	assert_string_equal(reason_of(&facts), "of the night");
	*tonight.reason = '\0';
	assert_string_equal(reason_of(&facts), "of the record");
	facts.record = NULL;
	assert_string_equal(reason_of(&facts), "of begin");
	facts.unbegun = NULL;
	assert_null(reason_of(&facts));
}

static const struct {
	const char *label, *key, *epochs;
	double first, best, last;
	int best_epoch; /* 0: there is no curve */
} curves[] = {
	{ "a loss is best where it is lowest", "loss", "[{\"loss\": 3}, {\"loss\": 1}, {\"loss\": 2}]", 3, 1,
	  2, 2 },
	{ "an accuracy is best where it is highest", "accuracy",
	  "[{\"accuracy\": 0.5}, {\"accuracy\": 0.25}]", 0.5, 0.5, 0.25, 1 },
	{ "an epoch may lack it", "validation_loss", "[{\"loss\": 1}, {\"validation_loss\": 4}]", 4, 4, 4,
	  2 },
	{ "null is none", "accuracy", "[{\"accuracy\": null}]", 0, 0, 0, 0 },
	{ "no epochs", "loss", "[]", 0, 0, 0, 0 },
};

static double number(const cJSON *curve, const char *key)
{
	return cJSON_GetNumberValue(member(curve, key));
}

static const struct report_figure *figure_of(const char *key)
{
	for (size_t i = 0; i < REPORT_FIGURES; i++)
		if (strcmp(report_figures[i].key, key) == 0)
			return &report_figures[i];
	return NULL;
}

static void test_curves(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
		CLEANUP(json_free) cJSON *epochs = cJSON_Parse(curves[i].epochs), *all = cJSON_CreateObject();
		const cJSON *curve;

		assert_non_null(epochs);
		assert_true(add_curve(all, epochs, figure_of(curves[i].key)));
		curve = member(all, curves[i].key);
		if (curves[i].best_epoch == 0 ? !cJSON_IsNull(curve)
					      : number(curve, "first") != curves[i].first ||
							number(curve, "best") != curves[i].best ||
							number(curve, "last") != curves[i].last ||
							number(curve, "best_epoch") != curves[i].best_epoch)
			fail_msg("%s", curves[i].label);
	}
}

static void check_sentence(const struct facts *facts, const char *report_text, const char *expected)
{
	CLEANUP(json_free) cJSON *report = cJSON_Parse(report_text);

	assert_true(add_sentence(report, facts, "box"));
	assert_string_equal(cJSON_GetStringValue(member(report, "text")), expected);
}

static void test_sentence(void **state)
{
	CLEANUP(json_free) cJSON *record = cJSON_Parse("{\"epochs\": [{}, {}]}");
	struct tonight tonight = { 0 };
	struct facts facts = { .tonight = &tonight, .outcome = "never_started" };

	(void)state;
	check_sentence(&facts, "{}", "box: no run started");
	(void)snprintf(tonight.reason, sizeof(tonight.reason), "the store is away");
	check_sentence(&facts, "{}", "box: no run started: the store is away");
	facts.record = record;
	facts.outcome = "expired";
	facts.run.config.run.epochs = 5;
	(void)snprintf(facts.run.id, sizeof(facts.run.id), "n-1");
	check_sentence(
		&facts, "{\"curves\": {\"validation_accuracy\": {\"last\": 0.875}}, \"faults\": [1, 2]}",
		"box: n-1: expired, 2 of 5 epochs, validation accuracy 87.50 %, 2 kinds of faults: the "
		"store is away");
}

/* ---- A series ---- */

#define SERIES_HEAD                                                                                 \
	"{\"id\": \"t-series-1\", \"objective\": \"validation.accuracy\", \"direction\": \"max\", " \
	"\"spent_s\": 75, "

static const struct {
	const char *label, *series, *outcome, *sentence;
} series_cases[] = {
	{ "promoted",
	  SERIES_HEAD
	  "\"state\": \"finished\", \"winner\": \"adam\", \"promotion\": {\"outcome\": \"promoted\", "
	  "\"why\": \"better\"}, \"trials\": [{\"name\": \"sgd\", \"state\": \"pruned\", \"value\": 0.5}, "
	  "{\"name\": \"adam\", \"state\": \"finished\", \"value\": 0.875}]}",
	  "finished",
	  "t-series-1: finished, 2 trials, 1 stopped early, adam won with validation accuracy 87.50 %, the "
	  "model "
	  "is the new champion" },
	{ "kept, with a failed one",
	  SERIES_HEAD
	  "\"state\": \"finished\", \"winner\": \"adam\", \"promotion\": {\"outcome\": \"kept\"}, "
	  "\"trials\": [{\"name\": \"sgd\", \"state\": \"failed\"}, "
	  "{\"name\": \"adam\", \"state\": \"finished\", \"value\": 0.875}]}",
	  "finished",
	  "t-series-1: finished, 2 trials, 1 failed, adam won with validation accuracy 87.50 %, the champion "
	  "stays" },
	{ "its night is over",
	  SERIES_HEAD
	  "\"state\": \"expired\", \"winner\": null, \"trials\": [{\"name\": \"sgd\", \"state\": "
	  "\"running\", \"value\": 0.5}, {\"name\": \"adam\", \"state\": \"finished\", \"value\": 0.875}]}",
	  "expired", "t-series-1: expired, 1 of 2 trials ended" },
	{ "a service ended for good",
	  SERIES_HEAD "\"state\": \"running\", \"trials\": [{\"name\": \"sgd\", \"state\": \"running\"}]}",
	  "halted", "t-series-1: halted, 0 of 1 trials ended" },
};

static void test_series(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(series_cases) / sizeof(series_cases[0]); i++) {
		CLEANUP(json_free) cJSON *series = cJSON_Parse(series_cases[i].series);
		CLEANUP(json_free) cJSON *member = report_series_of(series);
		char text[512], small[8];

		assert_non_null(member);
		assert_int_equal(report_series_sentence(member, series_cases[i].outcome, text, sizeof(text)),
				 strlen(series_cases[i].sentence));
		if (strcmp(text, series_cases[i].sentence) != 0)
			fail_msg("%s: %s", series_cases[i].label, text);
		assert_int_equal(report_series_sentence(member, "finished", small, sizeof(small)), 7);
	}
}

static void test_series_in_report(void **state)
{
	CLEANUP(json_free) cJSON *series = cJSON_Parse(series_cases[0].series);
	CLEANUP(json_free) cJSON *report = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	struct tonight tonight = { 0 };
	struct facts facts = { .tonight = &tonight, .outcome = "finished", .run.id = "t-1" };
	size_t bytes;
	FILE *out;

	(void)state;
	assert_true(cJSON_AddItemToObject(report, "series", report_series_of(series)));
	assert_true(add_sentence(report, &facts, "box"));
	assert_non_null(out = open_memstream(&text, &bytes));
	report_print(report, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "box: t-series-1: finished, 2 trials"));
	assert_non_null(
		strstr(text, "series       t-series-1: finished\n"
			     "             2 trials: 1 done, 0 failed, 1 stopped early, 1 min 15 s of work\n"
			     "             adam won: validation accuracy 87.50 %\n"));
	assert_non_null(strstr(text, "promotion    promoted: better\n"));
}

/* ---- Faults ---- */

static void test_faults(void **state)
{
	struct fault faults[EVENT_MAX] = { 0 };
	CLEANUP(json_free) cJSON *list = NULL;
	const cJSON *first;

	(void)state;
	assert_false(is_fault(EVENT_RUN_BEGUN));
	assert_true(is_fault(EVENT_RUN_HALTED));
	assert_true(is_fault(EVENT_NIGHT_MISSED)); /* a notice that counts as a fault */
	count(faults, EVENT_CHECKPOINT_DAMAGED, 1000000, strdup("the first"));
	count(faults, EVENT_RUN_HALTED, 2000000, NULL);
	count(faults, EVENT_CHECKPOINT_DAMAGED, 3500000, strdup("the last"));
	list = list_of(faults);
	assert_int_equal(cJSON_GetArraySize(list), 2);
	first = cJSON_GetArrayItem(list, 0);
	if (strcmp(cJSON_GetStringValue(member(first, "event")), "checkpoint.damaged") != 0)
		first = cJSON_GetArrayItem(list, 1);
	assert_string_equal(cJSON_GetStringValue(member(first, "event")), "checkpoint.damaged");
	assert_string_equal(cJSON_GetStringValue(member(first, "level")), "warning");
	assert_string_equal(cJSON_GetStringValue(member(first, "message")), "the last");
	assert_int_equal(number(first, "count"), 2);
	assert_int_equal(number(first, "last_s"), 3);
}

static void test_night_bounds(void **state)
{
	(void)state;
	assert_false(is_later(20999999, 10, 20));
	assert_true(is_later(21000000, 10, 20));
	assert_false(is_later(UINT64_MAX, 20, 10)); /* the clock was set back during the night */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes),         cmocka_unit_test(test_outcome_of_a_series),
		cmocka_unit_test(test_reasons),          cmocka_unit_test(test_curves),
		cmocka_unit_test(test_sentence),         cmocka_unit_test(test_series),
		cmocka_unit_test(test_series_in_report), cmocka_unit_test(test_faults),
		cmocka_unit_test(test_night_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

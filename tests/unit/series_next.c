/* SPDX-License-Identifier: Apache-2.0 */
/* Which trial runs next, and how long a series has worked. */
#include "core/series/next.c"     // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/series/note.c"  // NOLINT(bugprone-suspicious-include): not of a library
#include "oneshot/series/spent.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

#include <fcntl.h>

static const struct config frozen = { .run = { .epochs = 9 },
				      .series = { .first_rung_epochs = 1, .reduction = 3 } };

static cJSON *series_with(const char *method, const char *trials)
{
	cJSON *series = cJSON_CreateObject();

	cJSON_AddStringToObject(series, "method", method);
	cJSON_AddStringToObject(series, "direction", "max");
	cJSON_AddStringToObject(series, "objective", "validation.accuracy");
	cJSON_AddItemToObject(series, "trials", cJSON_Parse(trials));
	return series;
}

#define T(state)        "{\"state\":\"" state "\",\"rungs\":[]}"
#define IN(slot)        "{\"state\":\"running\",\"slot\":" #slot ",\"rungs\":[]}"
#define MOVED           "{\"state\":\"running\",\"slot\":0,\"moved\":true,\"rungs\":[]}"
#define R(state, rungs) "{\"state\":\"" state "\",\"rungs\":[" rungs "]}"

enum { OVER = -1, WAITS = -2 };

static void test_next(void **state)
{
	static const struct {
		const char *label, *method, *trials;
		int trial; /* OVER: the series is over; WAITS: there is nothing to do in slot 0 */
		uint64_t epochs;
	} cases[] = {
		{ "the first", "list", "[" T("waiting") "," T("waiting") "]", 0, 0 },
		{ "the one that runs", "grid", "[" T("waiting") "," T("running") "]", 1, 0 },
		{ "the one after those that have ended", "grid",
		  "[" T("finished") "," T("failed") "," T("waiting") "]", 2, 0 },
		{ "none", "random", "[" T("finished") "," T("failed") "," T("pruned") "]", OVER, 0 },
		{ "an empty list", "list", "[]", OVER, 0 },
		{ "rung by rung", "halving", "[" T("waiting") "," T("waiting") "]", 0, 1 },
		{ "one that runs goes on to the end of its rung", "halving",
		  "[" R("running", "0.5") "," T("waiting") "]", 0, 3 },
		{ "the last rung is the end of the run", "halving", "[" R("running", "0.5,0.6") "]", 0, 0 },
		{ "the best third is promoted", "halving",
		  "[" R("parked", "0.5") "," R("parked", "0.7") "," R("parked", "null") "]", 1, 3 },
		{ "the next best takes the place of one that failed", "halving",
		  "[" R("parked", "0.5") "," R("failed", "0.7") "," R("pruned", "null") "]", 0, 3 },
		{ "none is left", "halving", "[" R("finished", "0.5,0.6,0.7") "," R("pruned", "0.1") "]",
		  OVER, 0 },
		{ "one that runs in another slot is not this slot's", "grid", "[" IN(1) "," T("waiting") "]",
		  1, 0 },
		{ "this slot's goes first", "grid", "[" T("waiting") "," IN(1) "," IN(0) "]", 2, 0 },
		{ "this slot's goes before one that was moved to it", "grid",
		  "[" MOVED "," T("waiting") "," IN(0) "]", 2, 0 },
		{ "one that was moved goes before those that wait", "grid", "[" T("waiting") "," MOVED "]", 1,
		  0 },
		{ "this slot's goes before a parked one", "grid", "[" T("parked") "," IN(0) "]", 1, 0 },
		{ "nothing to do, while others run", "random", "[" IN(1) "," T("finished") "," IN(2) "]",
		  WAITS, 0 },
		{ "halving: beside one of another slot", "halving", "[" IN(1) "," T("waiting") "]", 1, 1 },
		{ "halving: another slot's rung must end first", "halving",
		  "[" IN(1) "," R("parked", "0.5") "," R("parked", "0.7") "]", WAITS, 0 },
		{ "halving: this slot's goes before one that was moved to it", "halving",
		  "[" MOVED "," T("waiting") "," IN(0) "]", 2, 1 },
		{ "halving: then the one that was moved", "halving", "[" T("waiting") "," MOVED "]", 1, 1 },
		{ "halving: this slot's goes first", "halving", "[" T("waiting") "," IN(1) "," IN(0) "]", 2,
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *series = series_with(cases[i].method, cases[i].trials);
		const struct next next = next_of(&frozen, series, 0);

		if (next.over != (cases[i].trial == OVER) || next.waits != (cases[i].trial == WAITS) ||
		    (cases[i].trial >= 0 &&
		     ((int)next.trial != cases[i].trial || next.epochs != cases[i].epochs)))
			fail_msg("%s: trial %u to epoch %ju", cases[i].label, next.trial,
				 (uintmax_t)next.epochs);
	}
}

/* Which trial begins after the one that runs: only where no other one can take its place. */
static void test_next_after(void **state)
{
	static const struct {
		const char *label, *method, *trials;
		int slots, trial; /* -1: not known, or none */
	} cases[] = {
		{ "the first that waits", "grid",
		  "[" T("finished") "," IN(0) "," T("waiting") "," T("waiting") "]", 1, 2 },
		{ "the one before the one that runs", "list", "[" T("waiting") "," IN(0) "]", 1, 0 },
		{ "none is left", "list", "[" T("failed") "," IN(0) "]", 1, -1 },
		{ "one that was moved goes on first", "list", "[" T("waiting") "," IN(0) "," MOVED "]", 1,
		  -1 },
		{ "a parked one goes on first", "list", "[" T("parked") "," IN(0) "," T("waiting") "]", 1,
		  -1 },
		{ "halving", "halving", "[" IN(0) "," T("waiting") "]", 1, -1 },
		{ "several slots", "grid", "[" IN(0) "," IN(1) "," T("waiting") "]", 2, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *series = series_with(cases[i].method, cases[i].trials);
		int found;

		cJSON_AddNumberToObject(series, "slots", cases[i].slots);
		found = next_after(series, 0);
		if (found != cases[i].trial)
			fail_msg("%s: trial %d", cases[i].label, found);
	}
}

/* A trial that has finished early counts in every rung; without halving there are no rungs. */
static void test_rungs(void **state)
{
	CLEANUP(json_free) cJSON *series = series_with("halving", "[" T("running") "]");
	CLEANUP(json_free) cJSON *grid = series_with("grid", "[" T("running") "]");
	CLEANUP(json_free)
	cJSON *record = cJSON_Parse("{\"epochs\":[{\"epoch\":0,\"validation_accuracy\":0.5},{\"epoch\":1,"
				    "\"validation_accuracy\":0.7}]}");
	cJSON *trial = series_trial(series, 0);
	const cJSON *rungs;

	(void)state;
	assert_int_equal(next_rungs(&frozen, series), 3);
	assert_int_equal(next_rungs(&frozen, grid), 0);
	note_rungs(series, trial, record, 1, 1);
	note_rungs(series, trial, record, 0, 3);
	rungs = cJSON_GetObjectItemCaseSensitive(trial, "rungs");
	assert_int_equal(cJSON_GetArraySize(rungs), 3);
	assert_true(cJSON_GetArrayItem(rungs, 0)->valuedouble == 0.5);
	assert_true(cJSON_GetArrayItem(rungs, 2)->valuedouble == 0.7);
}

/* Puts the mark back by so many seconds, of this boot or of another one. */
static void set_back(cJSON *series, double boot_back_s, double day_back_s, bool other_boot)
{
	cJSON *mark = cJSON_GetObjectItemCaseSensitive(series, "mark");

	assert_non_null(mark);
	(void)series_set(mark, "boot_s", cJSON_CreateNumber(json_number(mark, "boot_s", NAN) - boot_back_s));
	(void)series_set(mark, "unix_s", cJSON_CreateNumber(json_number(mark, "unix_s", NAN) - day_back_s));
	if (other_boot)
		(void)series_set(mark, "boot", cJSON_CreateString("another"));
}

static void test_spent(void **state)
{
	static const struct {
		const char *label;
		double boot_back_s, day_back_s, idle_s;
		bool other_boot;
		int64_t spent;
	} cases[] = {
		{ "an hour", 3600, 3600, 0, false, 3600 },
		{ "the time of day was set forward", 60, 1e6, 0, false, 60 },
		{ "the time of day was set back", 60, -1e6, 0, false, 60 },
		{ "over a reboot the time of day decides", 0, 600, 0, true, 600 },
		{ "but it takes nothing back", 0, -600, 0, true, 0 },
		{ "and a jump counts for a day", 0, 1e9, 0, true, SPENT_JUMP_MAX_S },
		{ "a run that halted", 3600, 3600, 3000, false, 600 },
		{ "a box without power", 0, 86400, 86000, true, 400 },
		{ "nothing worked since the mark", 3600, 3600, 7200, false, 0 },
		{ "nothing has ever worked", 3600, 3600, INFINITY, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *series = cJSON_CreateObject();
		int64_t found;

		spent_count(series, true);
		assert_int_equal(spent_s(series), 0);
		set_back(series, cases[i].boot_back_s, cases[i].day_back_s, cases[i].other_boot);
		count(series, false, cases[i].idle_s);
		found = spent_s(series);
		if (found < cases[i].spent || found > cases[i].spent + 5)
			fail_msg("%s: %jd s", cases[i].label, (intmax_t)found);
		/* Without a mark no time passes. */
		spent_count(series, true);
		assert_int_equal(spent_s(series), found);
		assert_int_equal(spent_left_s(series, "01:30"), 5400 - found);
		assert_true(spent_left_s(series, "") == INT64_MAX);
	}
}

/* Says that a file was written so long ago. */
static void write_ago(const char *path, int64_t ago_s)
{
	const struct timespec times[2] = { { .tv_sec = time(NULL) - ago_s },
					   { .tv_sec = time(NULL) - ago_s } };
	struct error err = { 0 };

	if (file_exists(path, NULL) == 0)
		must(file_write_durable(path, "", 0, &err), &err);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void assert_idle(double expected_s)
{
	const double found_s = idle_s();

	if (!(found_s >= expected_s && found_s < expected_s + 5))
		fail_msg("found %g s, expected %g s", found_s, expected_s);
}

static void test_idle(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES];
	struct error err = { 0 };

	(void)state;
	assert_true(isinf(idle_s()));
	begin_a_run("", &run);
	must(spool_make(run.id, &err), &err);
	write_ago(path_of(PATH_RUN, "run.json", path), 3000);
	/* kiln stop, or a boot after the end of the night, writes the state of a run that has halted. */
	must(run_state_set(RUN_STOPPED, &err), &err);
	assert_idle(3000);
	/* Within an epoch the trainer writes checkpoints only. */
	write_ago(spool_path(run.id, spool_checkpoint_name(10, name), path), 900);
	write_ago(spool_path(run.id, spool_checkpoint_name(20, name), path), 300);
	assert_idle(300);
	write_ago(path_of(PATH_RUN, "run.json", path), 60);
	assert_idle(60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_next_after),
		cmocka_unit_test(test_rungs),
		cmocka_unit_test(test_spent),
		cmocka_unit_test_setup_teardown(test_idle, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("series_next", tests, NULL, NULL);
}

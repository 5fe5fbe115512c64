/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous successive halving: rungs, promotions, and whole series with one trainer and with several. */
#include "core/series/halving.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define TRIALS_MOST 64u

static void test_rungs(void **state)
{
	static const struct {
		const char *label;
		struct halving rule;
		uint32_t rungs;
		uint64_t epochs[5];
	} cases[] = {
		{ "27 by 3", { 1, 27, 3, true }, 4, { 1, 3, 9, 27 } },
		{ "cut at the full number", { 1, 5, 3, true }, 3, { 1, 3, 5 } },
		{ "one rung", { 1, 1, 3, true }, 1, { 1 } },
		{ "the first rung is beyond the end", { 9, 5, 2, true }, 1, { 5 } },
		{ "by 2 from 3", { 3, 24, 2, true }, 4, { 3, 6, 12, 24 } },
	};
	const struct halving longest = { 1, 1000000, 2, true };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (halving_rungs(&cases[i].rule) != cases[i].rungs)
			fail_msg("%s: found %u rungs", cases[i].label, halving_rungs(&cases[i].rule));
		for (uint32_t rung = 0; rung < cases[i].rungs; rung++)
			assert_int_equal(halving_epochs(&cases[i].rule, rung), cases[i].epochs[rung]);
	}
	assert_true(halving_rungs(&longest) < HALVING_RUNGS_MAX);
}

/* ---- A simulated series ---- */

struct series {
	struct halving rule;
	uint32_t count, slots; /* slots: trials at a time */
	struct halving_trial trial[TRIALS_MOST];
	uint64_t epochs, done[TRIALS_MOST]; /* trained in all, and by each trial */
	uint32_t queue[TRIALS_MOST], queued;
	uint64_t until[TRIALS_MOST];
	const double *final; /* value of each trial after all epochs */
	bool prunes;
};

static double value_of(const struct series *series, uint32_t trial)
{
	return series->final[trial];
}

static void end_rung(struct series *series)
{
	const uint32_t index = series->queue[0];
	struct halving_trial *trial = &series->trial[index];

	memmove(series->queue, series->queue + 1, --series->queued * sizeof(series->queue[0]));
	series->epochs += series->until[index] - series->done[index];
	series->done[index] = series->until[index];
	trial->value[trial->rungs++] = value_of(series, index);
	trial->state = trial->rungs == halving_rungs(&series->rule) ? HALVING_ENDED : HALVING_PARKED;
	for (uint32_t i = 0; series->prunes && i < series->count; i++)
		if (halving_lost(&series->rule, series->trial, series->count, i))
			series->trial[i].state = HALVING_ENDED;
}

static void run_series(struct series *series)
{
	for (;;) {
		const struct halving_next next = halving_next(&series->rule, series->trial, series->count);

		if (next.verdict == HALVING_DONE)
			break;
		if (next.verdict == HALVING_RUN && series->queued < series->slots) {
			assert_true(next.epochs > series->done[next.trial]);
			series->trial[next.trial].state = HALVING_RUNNING;
			series->until[next.trial] = next.epochs;
			series->queue[series->queued++] = next.trial;
			continue;
		}
		assert_true(series->queued > 0);
		end_rung(series);
	}
	assert_int_equal(series->queued, 0);
}

static uint32_t count_rungs(const struct series *series, uint32_t rungs)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < series->count; i++)
		found += series->trial[i].rungs >= rungs;
	return found;
}

/* The best of 27 trials trains to the end, in a third of the grid's epochs or less; nobody else costs more
 * where the trials come in falling order. */
static void test_series(void **state)
{
	double up[27], down[27];

	(void)state;
	for (int i = 0; i < 27; i++) {
		up[i] = i;
		down[i] = -i;
	}
	for (unsigned slots = 1; slots <= 4; slots++)
		for (int pass = 0; pass < 4; pass++) {
			struct series series = { .rule = { 1, 27, 3, true },
						 .count = 27,
						 .slots = slots,
						 .final = pass % 2 ? up : down,
						 .prunes = pass >= 2 };

			run_series(&series);
			assert_int_equal(series.done[pass % 2 ? 26 : 0], 27);
			assert_int_equal(count_rungs(&series, 1), 27);
			assert_true(count_rungs(&series, 2) >= 9);
			if (pass % 2 == 0) {
				assert_int_equal(count_rungs(&series, 4), 1);
				assert_int_equal(series.epochs, 27 + 9 * 2 + 3 * 6 + 18);
			}
			assert_true(series.epochs < 27 * 27);
		}
}

/* Pruning early changes nothing that is trained. */
static void test_pruned_trials_are_those_that_never_go_on(void **state)
{
	double values[20];

	(void)state;
	for (unsigned seed = 1; seed < 200; seed++) {
		struct series one = { .rule = { 1, 16, 2, seed % 2 }, .count = 20, .slots = 1 + seed % 3 },
			      two;
		uint32_t word = seed;

		for (int i = 0; i < 20; i++) {
			word = word * 1664525u + 1013904223u;
			values[i] = word >> 28 ? (double)(word >> 24) : NAN;
		}
		one.final = values;
		two = one;
		two.prunes = true;
		run_series(&one);
		run_series(&two);
		assert_int_equal(one.epochs, two.epochs);
		assert_memory_equal(one.done, two.done, sizeof(one.done));
	}
}

/* Fewer trials than `reduction`: one still trains to the end, and a NaN never does. */
static void test_few_and_nan(void **state)
{
	static const double two[] = { 0.5, 0.25 }, nan_first[] = { NAN, 0.25, 0.5 }, all_nan[] = { NAN, NAN };
	struct series few = { .rule = { 1, 9, 3, false }, .count = 2, .slots = 1, .final = two };
	struct series first = { .rule = { 1, 9, 3, true }, .count = 3, .slots = 1, .final = nan_first };
	struct series none = { .rule = { 1, 9, 3, true }, .count = 2, .slots = 2, .final = all_nan };

	(void)state;
	run_series(&few);
	assert_int_equal(few.done[0], 1);
	assert_int_equal(few.done[1], 9);
	run_series(&first);
	assert_int_equal(first.done[0], 1);
	assert_int_equal(first.done[2], 9);
	run_series(&none);
	assert_int_equal(none.epochs, 2);
}

/* A trial that failed takes part no more, and the next best takes its place. */
static void test_failed(void **state)
{
	struct halving rule = { 1, 3, 3, true };
	struct halving_trial trials[4] = { { .state = HALVING_FAILED },
					   { HALVING_PARKED, 1, { 1 } },
					   { HALVING_PARKED, 1, { 3 } },
					   { HALVING_RUNNING, 0, { 0 } } };
	struct halving_next next = halving_next(&rule, trials, 4);

	(void)state;
	assert_int_equal(next.verdict, HALVING_WAIT);
	assert_false(halving_lost(&rule, trials, 4, 1));
	trials[3].state = HALVING_FAILED;
	next = halving_next(&rule, trials, 4);
	assert_int_equal(next.verdict, HALVING_RUN);
	assert_int_equal(next.trial, 2);
	assert_int_equal(next.epochs, 3);
	assert_false(halving_lost(&rule, trials, 4, 1));
	trials[2].state = HALVING_FAILED;
	next = halving_next(&rule, trials, 4);
	assert_int_equal(next.verdict, HALVING_RUN);
	assert_int_equal(next.trial, 1);
	trials[2].state = HALVING_ENDED;
	assert_true(halving_lost(&rule, trials, 4, 1));
	next = halving_next(&rule, trials, 4);
	assert_int_equal(next.verdict, HALVING_DONE);
	next = halving_next(&rule, trials, 0);
	assert_int_equal(next.verdict, HALVING_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rungs),
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_pruned_trials_are_those_that_never_go_on),
		cmocka_unit_test(test_few_and_nan),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests_name("halving", tests, NULL, NULL);
}

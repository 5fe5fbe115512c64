/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the decisions of callbacks with those of Keras 3 on the same losses and metrics.
 * tests/interop/callbacks.py reads the tables of the first two tests and compares them with Keras again. */
#include "model/learn/callbacks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct callbacks_figures val_loss(double value)
{
	return (struct callbacks_figures){ NAN, NAN, value, NAN };
}

/* Returns the epoch after which training stops, or `epochs`. */
static uint64_t stops_at(const struct config *config, const double *losses, uint64_t epochs)
{
	struct callbacks state;

	callbacks_start(&state);
	for (uint64_t epoch = 0; epoch < epochs; epoch++) {
		const struct callbacks_figures figures = val_loss(losses[epoch]);

		if (callbacks_epoch(config, &state, epoch, &figures, 0.1).stop)
			return epoch;
	}
	return epochs;
}

static void test_stops_early(void **state)
{
	static const double falling[] = { 5, 4, 3, 2, 1 }, flat[] = { 3, 3, 3, 3, 3 },
			    bump[] = { 3, 4, 2, 2.5, 2.4, 2.3 }, small[] = { 3, 2.95, 2.9, 2.85, 2.8 };
	static const struct {
		const char *label;
		const double *losses;
		uint64_t epochs, patience;
		double min_delta;
		int mode;
		uint64_t stops;
	} cases[] = {
		{ "falling", falling, 5, 0, 0, MODE_AUTO, 5 },
		{ "flat, no patience", flat, 5, 0, 0, MODE_AUTO, 1 },
		{ "flat, patience 1", flat, 5, 1, 0, MODE_AUTO, 1 },
		{ "flat, patience 3", flat, 5, 3, 0, MODE_AUTO, 3 },
		{ "a bump, patience 2", bump, 6, 2, 0, MODE_AUTO, 4 },
		{ "a bump, patience 1", bump, 6, 1, 0, MODE_AUTO, 1 },
		{ "small steps", small, 5, 2, 0.2, MODE_AUTO, 2 },
		{ "small steps add up", small, 5, 3, 0.12, MODE_AUTO, 5 },
		{ "falling, higher is better", falling, 5, 2, 0, MODE_MAX, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct config config = { .early_stopping = { .monitor = MONITOR_VAL_LOSS,
								   .mode = cases[i].mode,
								   .patience = cases[i].patience,
								   .min_delta = cases[i].min_delta } };
		uint64_t found = stops_at(&config, cases[i].losses, cases[i].epochs);

		if (found != cases[i].stops)
			fail_msg("%s: stops at %d, expected %d", cases[i].label, (int)found,
				 (int)cases[i].stops);
	}
}

static void test_reduces(void **state)
{
	/* The last epoch of a cooldown is also the first epoch of the wait. The second reduction reaches
	 * min_lr. */
	static const double losses[] = { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 };
	static const uint64_t reduced[] = { 2, 4 };
	static const double rates[] = { 0.05, 0.03 };
	const struct config config = { .reduce_on_plateau = { .monitor = MONITOR_VAL_LOSS,
							      .patience = 2,
							      .cooldown = 1,
							      .factor = 0.5,
							      .min_lr = 0.03 } };
	struct callbacks callbacks;
	double rate = 0.1;
	size_t found = 0;

	(void)state;
	callbacks_start(&callbacks);
	for (uint64_t epoch = 0; epoch < sizeof(losses) / sizeof(losses[0]); epoch++) {
		const struct callbacks_figures figures = val_loss(losses[epoch]);

		if (!callbacks_epoch(&config, &callbacks, epoch, &figures, rate).reduce)
			continue;
		assert_true(found < 2 && epoch == reduced[found]);
		rate = callbacks.plateau.rate;
		assert_true(rate == (double)(float)rates[found]);
		found++;
	}
	assert_int_equal(found, 2);
}

static void test_keeps(void **state)
{
	static const double accuracies[] = { 0.5, 0.7, 0.7, 0.6, 0.8, 0.1 };
	static const bool kept[] = { true, true, false, false, true, false };
	const struct config config = { .keep_best = { .monitor = MONITOR_VAL_ACCURACY } };
	const struct config none = { 0 };
	struct callbacks callbacks;

	(void)state;
	assert_true(callbacks_save_best(&config));
	callbacks_start(&callbacks);
	for (uint64_t epoch = 0; epoch < 6; epoch++) {
		const struct callbacks_figures figures = { NAN, NAN, NAN, accuracies[epoch] };
		const struct callbacks before = callbacks;
		struct callbacks_verdict verdict;

		assert_int_equal(callbacks_keeps(&config, &callbacks, epoch, &figures), kept[epoch]);
		assert_memory_equal(&callbacks, &before, sizeof(before));
		verdict = callbacks_epoch(&config, &callbacks, epoch, &figures, 0.1);
		assert_int_equal(verdict.save, kept[epoch]);
		assert_false(verdict.stop || verdict.reduce);
	}
	assert_true(callbacks.saving.best_epoch == 4);
	assert_true(callbacks_keeps(&none, &callbacks, 6, &(struct callbacks_figures){ 9, 0, 9, 0 }));
}

/* Without the metric that it monitors, a callback decides nothing. */
static void test_missing(void **state)
{
	const struct config config = { .early_stopping = { .monitor = MONITOR_VAL_LOSS,
							   .restore_best = true },
				       .reduce_on_plateau = { .monitor = MONITOR_VAL_LOSS, .factor = 0.5 },
				       .keep_best = { .monitor = MONITOR_VAL_ACCURACY } };
	const struct callbacks_figures none = { 1, 1, NAN, NAN };
	struct callbacks callbacks, before;

	(void)state;
	callbacks_start(&callbacks);
	before = callbacks;
	for (uint64_t epoch = 0; epoch < 5; epoch++) {
		const struct callbacks_verdict verdict =
			callbacks_epoch(&config, &callbacks, epoch, &none, 0.1);

		assert_false(verdict.save || verdict.stop || verdict.reduce);
	}
	assert_memory_equal(&callbacks, &before, sizeof(before));
}

/* A run killed after any epoch decides the same way with the state from its checkpoint. */
static void test_resumes(void **state)
{
	static const double losses[] = { 3, 2, 2.5, 2.4, 2.3, 1.9, 2, 2, 2, 2 };
	const struct config config = { .early_stopping = { .monitor = MONITOR_VAL_LOSS, .patience = 4 },
				       .reduce_on_plateau = {
					       .monitor = MONITOR_VAL_LOSS, .patience = 2, .factor = 0.5 } };
	struct callbacks callbacks;

	(void)state;
	callbacks_start(&callbacks);
	for (uint64_t epoch = 0; epoch < 10; epoch++) {
		const struct callbacks_figures figures = val_loss(losses[epoch]);
		unsigned char saved[sizeof(callbacks)];
		struct callbacks again;
		const struct callbacks_verdict verdict =
			(memcpy(saved, &callbacks, sizeof(saved)),
			 callbacks_epoch(&config, &callbacks, epoch, &figures, 0.1));
		struct callbacks_verdict repeated;

		memcpy(&again, saved, sizeof(again));
		repeated = callbacks_epoch(&config, &again, epoch, &figures, 0.1);
		assert_memory_equal(&again, &callbacks, sizeof(again));
		assert_true(repeated.stop == verdict.stop && repeated.reduce == verdict.reduce);
		assert_int_equal(verdict.stop, epoch == 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stops_early), cmocka_unit_test(test_reduces),
		cmocka_unit_test(test_keeps),       cmocka_unit_test(test_missing),
		cmocka_unit_test(test_resumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

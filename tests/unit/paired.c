/* SPDX-License-Identifier: Apache-2.0 */
/* Paired tests of two models, against figures of SciPy 1.17.1 and statsmodels 0.15.0. */
#include "oneshot/promote/paired.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double found, double expected, double tolerance)
{
	if (!(fabs(found - expected) <= tolerance)) {
		print_error("found %.17g, expected %.17g +- %g\n", found, expected, tolerance);
		fail();
	}
}

/* p: mcnemar([[., won], [lost, .]], exact=True).pvalue of statsmodels; the interval with scipy.stats.norm. */
static void test_mcnemar(void **state)
{
	static const struct {
		uint64_t rows, won, lost;
		double gain, low, high, p;
		bool holds;
	} cases[] = {
		{ 100, 0, 0, 0, 0, 0, 1, false },
		{ 100, 1, 0, 0.01, -0.009501395417987871, 0.029501395417987873, 1, false },
		{ 100, 6, 0, 0.06, 0.013453434338595006, 0.106546565661405, 0.03125, true },
		{ 100, 5, 0, 0.05, 0.007283575292052945, 0.09271642470794705, 0.0625, false },
		{ 100, 15, 5, 0.1, 0.01456715058410589, 0.1854328494158941, 0.04138946533203125, true },
		{ 1000, 5, 15, -0.01, -0.018743284882228938, -0.0012567151177710623, 0.04138946533203125,
		  false },
		{ 10000, 120, 80, 0.004, 0.0012293012961934785, 0.006770698703806522, 0.005685155996750306,
		  true },
		{ 10000, 90, 110, -0.002, -0.004771530454074062, 0.0007715304540740616, 0.17896403953325155,
		  false },
		{ 10000, 1234, 1100, 0.0134, 0.003934765103790795, 0.022865234896209206, 0.005894093085247736,
		  true },
		{ 5000000, 250000, 248000, 0.0004, 0.000123374374322362, 0.0006766256256776381,
		  0.004615851762335189, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct paired paired = paired_mcnemar(cases[i].rows, cases[i].won, cases[i].lost);

		assert_string_equal(paired.method, "mcnemar");
		assert_near(paired.gain, cases[i].gain, 1e-15);
		assert_near(paired.low, cases[i].low, 1e-14);
		assert_near(paired.high, cases[i].high, 1e-14);
		assert_near(paired.p, cases[i].p, 1e-9 * cases[i].p);
		assert_int_equal(paired_holds(&paired), cases[i].holds);
	}
}

#define ROWS_MAX 500u

/* scipy.stats.bootstrap((gain,), np.mean, method="percentile", n_resamples=100000) with two seeds; the
 * tolerance is what these differ by, and twice that for the 10 000 resamples here. */
static void test_bootstrap(void **state)
{
	static const struct {
		uint64_t rows;
		double step, scale, offset;
		bool skewed;
		double gain, low, high, p, tolerance;
		bool holds;
	} cases[] = {
		{ 200, 0.7, 0.5, 0.1, false, 0.10287648148857498, 0.0540, 0.1515, 0.0002, 0.0015, true },
		{ 200, 0.7, 0.5, 0.03, false, 0.03287648148857497, -0.0160, 0.0815, 0.1855, 0.0015, false },
		{ 500, 1.3, 2, -2, true, 0.28775660558892124, 0.0738, 0.5070, 0.0080, 0.007, true },
	};
	double gain[ROWS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct paired paired, again;
		struct error err;

		for (uint64_t k = 0; k < cases[i].rows; k++) {
			const double wave = sin(cases[i].step * (double)k) * cases[i].scale;

			gain[k] = (cases[i].skewed ? exp(wave) : wave) + cases[i].offset;
		}
		assert_int_equal(paired_bootstrap(gain, cases[i].rows, PAIRED_SEED, &paired, &err), 0);
		assert_near(paired.gain, cases[i].gain, 1e-12);
		assert_near(paired.low, cases[i].low, cases[i].tolerance);
		assert_near(paired.high, cases[i].high, cases[i].tolerance);
		assert_near(paired.p, cases[i].p, fmax(0.0005, 0.15 * cases[i].p));
		assert_int_equal(paired_holds(&paired), cases[i].holds);
		assert_int_equal(paired.resamples, PAIRED_RESAMPLES);
		assert_int_equal(paired_bootstrap(gain, cases[i].rows, PAIRED_SEED, &again, &err), 0);
		assert_memory_equal(&paired.low, &again.low, sizeof(paired.low));
		assert_memory_equal(&paired.p, &again.p, sizeof(paired.p));
	}
}

/* A gain that is the same for all rows has an interval of one point; a mirrored one loses as it won. */
static void test_bootstrap_bounds(void **state)
{
	double same[50], mirrored[50];
	struct paired paired, other;
	struct error err;

	(void)state;
	for (size_t i = 0; i < 50; i++) {
		same[i] = 0.25;
		mirrored[i] = -0.25;
	}
	assert_int_equal(paired_bootstrap(same, 50, 1, &paired, &err), 0);
	assert_int_equal(paired_bootstrap(mirrored, 50, 1, &other, &err), 0);
	assert_near(paired.low, 0.25, 1e-15);
	assert_near(paired.high, 0.25, 1e-15);
	assert_true(paired_holds(&paired));
	assert_near(other.high, -0.25, 1e-15);
	assert_false(paired_holds(&other));
	assert_int_equal(paired_bootstrap(same, 1, 1, &paired, &err), 0);
	assert_near(paired.gain, 0.25, 0);
}

/* Many rows have fewer resamples, so that a test ends in seconds. */
static void test_bootstrap_many(void **state)
{
	(void)state;
	assert_int_equal(resamples_of(1), PAIRED_RESAMPLES);
	assert_int_equal(resamples_of(50000), 4000);
	assert_int_equal(resamples_of(10000000), PAIRED_RESAMPLE_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mcnemar),
		cmocka_unit_test(test_bootstrap),
		cmocka_unit_test(test_bootstrap_bounds),
		cmocka_unit_test(test_bootstrap_many),
	};

	return cmocka_run_group_tests_name("paired", tests, NULL, NULL);
}

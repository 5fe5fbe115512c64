/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of charts: where they begin and end, and their ticks. */
#include "core/box/axis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void write_ticks(const struct axis *axis, char *out, size_t size)
{
	char label[AXIS_LABEL_SIZE];
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < axis->ticks; i++) {
		(void)axis_tick(axis, i, label);
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", label);
	}
}

static const struct {
	const char *label;
	double least, most;
	const char *ticks;
} epochs[] = {
	{ "one", 1, 1, "1" },
	{ "two", 1, 2, "1 2" },
	{ "five", 1, 5, "1 2 3 4 5" },
	{ "twelve", 1, 12, "2 4 6 8 10 12" },
	{ "a hundred", 1, 100, "20 40 60 80 100" },
	{ "of a run that went on", 90, 100, "90 92 94 96 98 100" },
	{ "4096", 1, 4096, "1000 2000 3000 4000" },
	{ "above a million", 12345670, 12345678,
	  "12345670 12345671 12345672 12345673 12345674 12345675 12345676 12345677 12345678" },
	{ "a million", 1, 1e6, "200000 400000 600000 800000 1000000" },
};

static void test_epochs(void **state)
{
	char ticks[256];

	(void)state;
	for (size_t i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++) {
		const struct axis axis = axis_of_epochs(epochs[i].least, epochs[i].most);

		write_ticks(&axis, ticks, sizeof(ticks));
		if (strcmp(ticks, epochs[i].ticks) != 0)
			fail_msg("%s: found %s, expected %s", epochs[i].label, ticks, epochs[i].ticks);
	}
}

static const struct {
	const char *label;
	double least, most, limit;
	bool logarithmic;
	const char *ticks; /* of which the first and the last are the ends */
} values[] = {
	{ "shares", 77.3, 86.9, 100, false, "76 78 80 82 84 86 88" },
	{ "up to the limit", 91.2, 99.9, 100, false, "90 92 94 96 98 100" },
	{ "equal, at the limit", 100, 100, 100, false, "90 95 100" },
	{ "equal", 0.5, 0.5, INFINITY, false, "0.45 0.50 0.55" },
	{ "zero", 0, 0, INFINITY, false, "0.00 0.05 0.10" },
	{ "losses", 0.4435, 0.8304, INFINITY, false, "0.4 0.5 0.6 0.7 0.8 0.9" },
	{ "below zero", -1.5, 0.7, INFINITY, false, "-1.5 -1.0 -0.5 0.0 0.5 1.0" },
	{ "small", 1.1e-7, 2.9e-7, INFINITY, false, "1e-07 1.5e-07 2e-07 2.5e-07 3e-07" },
	{ "large", 1e9, 2e9, INFINITY, false, "1e+09 1.2e+09 1.4e+09 1.6e+09 1.8e+09 2e+09" },
	{ "a flat curve", 0.69311, 0.69316, INFINITY, false,
	  "0.69311 0.69312 0.69313 0.69314 0.69315 0.69316" },
	{ "a flat curve of tiny values", 1.2341e-12, 1.2344e-12, INFINITY, false,
	  "1.2341e-12 1.2342e-12 1.2343e-12 1.2344e-12" },
	{ "a flat curve of large values", 1.2341e9, 1.2343e9, INFINITY, false,
	  "1234100000 1234150000 1234200000 1234250000 1234300000" },
	{ "as good as equal", 0.693147, 0.693148, INFINITY, false, "0.60 0.65 0.70 0.75 0.80" },
	{ "decades", 0.002, 35, INFINITY, true, "0.001 0.01 0.1 1 10 100" },
	{ "many decades", 1e-12, 1e8, INFINITY, true, "1e-15 1e-10 1e-05 1 100000 1e+10" },
};

static void test_values(void **state)
{
	char ticks[256];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const struct axis axis = axis_of_values(values[i].least, values[i].most, values[i].limit,
							values[i].logarithmic);

		write_ticks(&axis, ticks, sizeof(ticks));
		if (strcmp(ticks, values[i].ticks) != 0)
			fail_msg("%s: found %s, expected %s", values[i].label, ticks, values[i].ticks);
		assert_true(axis_place(&axis, values[i].least) >= -1e-6);   /* rounding */
		assert_true(axis_place(&axis, values[i].most) <= 1 + 1e-6); /* rounding */
	}
}

/* No two ticks have the same label, and no label is too long for its place, however flat a curve is. */
static void test_labels(void **state)
{
	char label[2][AXIS_LABEL_SIZE];

	(void)state;
	for (int i7 = 0; i7 < 21; i7++)
		for (int i3 = 0; i3 < 21; i3++) {
			const double value = 1e-9 * pow(7, i7), share = 1e-9 * pow(3, i3);
			const struct axis axis = axis_of_values(value, value * (1 + share), INFINITY, false);

			for (uint32_t i = 0; i < axis.ticks; i++) {
				(void)axis_tick(&axis, i, label[i % 2]);
				assert_in_range(strlen(label[i % 2]), 1, 12);
				if (i > 0 && strcmp(label[0], label[1]) == 0)
					fail_msg("%g .. %g: %s twice", value, value * (1 + share), label[0]);
			}
		}
}

/* Values from outside, at the ends of what a double holds: places stay numbers, and ticks few. */
static void test_hostile(void **state)
{
	static const double ends[][2] = { { -1e300, 1e300 },  { 1e300, 1e300 }, { 5e-324, 1e-323 },
					  { 1e16, 1e16 + 2 }, { -0.0, 0.0 },    { 0, 5e-324 } };

	(void)state;
	assert_false(axis_takes(NAN));
	assert_false(axis_takes(INFINITY));
	assert_false(axis_takes(-1e301));
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct axis axes[] = { axis_of_values(ends[i][0], ends[i][1], INFINITY, false),
					     axis_of_epochs(ends[i][0], ends[i][1]) };

		for (int j = 0; j < 2; j++) {
			assert_true(axes[j].ticks <= AXIS_TICKS_MAX);
			assert_true(isfinite(axis_place(&axes[j], ends[i][0])));
			assert_true(isfinite(axis_place(&axes[j], ends[i][1])));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares histograms with those of tensorboard.plugins.histogram.summary_v2._buckets() on the same
 * values. */
#include "model/formats/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_counts(void **state)
{
	static const double expected[HISTOGRAM_BUCKETS] = { 4, 3, 3, 4, 3, 3, 4, 3, 3, 3, 4, 3, 3, 4, 3,
							    3, 4, 3, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 4 };
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS];
	float values[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		values[i] = (float)i;
	histogram_of(values, 100, buckets);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		assert_true(buckets[i].count == expected[i]);
	assert_true(buckets[0].left == 0 && buckets[HISTOGRAM_BUCKETS - 1].right == 99);
}

/* Edges are equal to the last bit. */
static void test_edges(void **state)
{
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS];

	(void)state;
	histogram_of((const float[]){ -1.5f, 0.1f, 0.2f, 0.2f, 3.75f }, 5, buckets);
	assert_true(buckets[7].left == -0x1.199999999999cp-2 && buckets[7].right == -0x1.99999999999a0p-4);
	assert_true(buckets[29].left == 0x1.c999999999998p+1 && buckets[29].right == 3.75);
	assert_true(buckets[0].count == 1 && buckets[9].count == 3 && buckets[29].count == 1);
}

static void test_one_value(void **state)
{
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS];

	(void)state;
	histogram_of((const float[]){ 0.5f, 0.5f, 0.5f }, 3, buckets);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		assert_true(buckets[i].left == 0.5 && buckets[i].right == 0.5);
		assert_true(buckets[i].count == (i == HISTOGRAM_BUCKETS - 1 ? 3 : 0));
	}
}

static void test_nothing(void **state)
{
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS];

	(void)state;
	histogram_of(NULL, 0, buckets);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		assert_true(buckets[i].left == 0 && buckets[i].right == 0 && buckets[i].count == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_one_value),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

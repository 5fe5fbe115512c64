/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/rests.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_rest(void **state)
{
	struct rests rests = { 0 };

	(void)state;
	assert_false(rests_is_resting(&rests, 0, 1000));
	rests_charge(&rests, 7, 99, 1000);
	assert_false(rests_is_resting(&rests, 7, 1000));
	rests_charge(&rests, 7, 100, 1000);
	assert_true(rests_is_resting(&rests, 7, 1399));
	assert_false(rests_is_resting(&rests, 7, 1400));
	assert_false(rests_is_resting(&rests, 8, 1001));
	rests_charge(&rests, 7, 200, 2000);
	assert_true(rests_is_resting(&rests, 7, 2799));
	rests_charge(&rests, 7, 1000000, 3000);
	assert_true(rests_is_resting(&rests, 7, 12999));
	assert_false(rests_is_resting(&rests, 7, 13000));
}

static void test_many(void **state)
{
	struct rests rests = { 0 };

	(void)state;
	for (uint64_t caller = 1; caller <= RESTS_MAX; caller++)
		rests_charge(&rests, caller, 1000 + caller, 1000);
	for (uint64_t caller = 1; caller <= RESTS_MAX; caller++)
		assert_true(rests_is_resting(&rests, caller, 2000));
	rests_charge(&rests, 99, 500, 1000);
	assert_true(rests_is_resting(&rests, 99, 2000));
	assert_false(rests_is_resting(&rests, 1, 2000));
	assert_true(rests_is_resting(&rests, 2, 2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rest), cmocka_unit_test(test_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/cadence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define STEP_US UINT64_C(600)

/* Runs steps of 0.6 ms for `us`; returns the number of checkpoints, each of which costs `cost_us`. */
static uint64_t count(struct cadence *cadence, uint64_t us, uint64_t cost_us)
{
	uint64_t taken = 0, step = 0;

	for (uint64_t now_us = cadence->last_us, end_us = now_us + us; now_us < end_us; now_us += STEP_US)
		if (cadence_is_due(cadence, ++step, now_us)) {
			cadence_started(cadence, now_us);
			cadence_cost(cadence, cost_us / 3, cost_us - cost_us / 3);
			now_us += cost_us;
			taken++;
		}
	return taken;
}

static void test_steps(void **state)
{
	struct cadence cadence = { .every_steps = 20 };

	(void)state;
	assert_false(cadence_is_due(&cadence, 19, 5));
	assert_true(cadence_is_due(&cadence, 20, 5));
	assert_false(cadence_is_due(&cadence, 21, 5));
	assert_true(cadence_is_due(&cadence, 40, 5));
}

static void test_minutes(void **state)
{
	struct config config = { .checkpoint = { .every_minutes = 0.5 } };
	struct cadence cadence = cadence_of(&config, 7);

	(void)state;
	assert_false(cadence_is_due(&cadence, 1000, 7 + 29999999));
	assert_true(cadence_is_due(&cadence, 1000, 7 + 30000000));
	cadence_started(&cadence, 7 + 31000000);
	assert_false(cadence_is_due(&cadence, 1000, 7 + 60999999));
	assert_true(cadence_is_due(&cadence, 1000, 7 + 61000000));
}

static void test_none(void **state)
{
	struct cadence cadence = { 0 };

	(void)state;
	assert_int_equal(count(&cadence, UINT64_C(3600000000), 0), 0);
}

/* Whatever a checkpoint costs, all checkpoints after the first, whose cost is not known in advance, cost at
 * most 1 % of the time. They cost at least half of that unless CADENCE_AUTO_LEAST_US limits their number. */
static void test_automatic(void **state)
{
	static const uint64_t costs_us[] = { 1000, 100000, 1000000, 20000000 };
	const uint64_t day_us = UINT64_C(86400000000);

	(void)state;
	for (size_t i = 0; i < sizeof(costs_us) / sizeof(costs_us[0]); i++) {
		struct config config = { .checkpoint = { .automatic = true } };
		struct cadence cadence = cadence_of(&config, 0);
		uint64_t taken = count(&cadence, day_us, costs_us[i]), cost_us = (taken - 1) * costs_us[i];

		assert_true(taken > 1 && cost_us <= day_us / 100);
		if (costs_us[i] * CADENCE_SHARE > CADENCE_AUTO_LEAST_US)
			assert_true(cost_us >= day_us / 200);
		assert_true(taken <= day_us / CADENCE_AUTO_LEAST_US);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_minutes),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_automatic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

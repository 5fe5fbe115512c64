/* SPDX-License-Identifier: Apache-2.0 */
/* How long an import without progress is waited for. */
#include "drivers/lakefs/lakefs_import.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MINUTE_US UINT64_C(60000000)

static void test_stuck(void **state)
{
	struct lakefs_progress progress = { .objects = 1, .updated = "2026-11-27T16:00:00Z" };
	struct watch watch = { 0 };

	(void)state;
	assert_false(is_stuck(&watch, &progress, MINUTE_US));
	assert_false(is_stuck(&watch, &progress, 15 * MINUTE_US));
	progress.objects++;
	assert_false(is_stuck(&watch, &progress, 16 * MINUTE_US));
	progress.updated[18]++;
	assert_false(is_stuck(&watch, &progress, 17 * MINUTE_US));
	assert_false(is_stuck(&watch, &progress, 32 * MINUTE_US - 1));
	assert_true(is_stuck(&watch, &progress, 32 * MINUTE_US));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stuck),
	};

	return cmocka_run_group_tests_name("lakefs_import", tests, NULL, NULL);
}

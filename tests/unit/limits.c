/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

static void test_files(void **state)
{
	struct rlimit before, few, raised;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 64, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	limits_raise_files();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &raised), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(raised.rlim_cur, before.rlim_max);
	assert_int_equal(raised.rlim_max, before.rlim_max);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test passes on a device that computes correctly, and notices one wrong sum. */
#include "model/self_test.c" // NOLINT(bugprone-suspicious-include): for its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_device(void **state)
{
	CLEANUP(gpu_closep) struct gpu *gpu = NULL;
	struct error err = { 0 };
	static struct work work;

	(void)state;
	assert_int_equal(gpu_open(&GPU_ANY, &gpu, &err), 0);
	assert_int_equal(self_test(gpu, &err), 0);
	assert_int_equal(verify(gpu, &work, &err), 0); /* all sums are zero */
	work.host_sums[GROUPS - 1] = 1;
	assert_int_equal(verify(gpu, &work, &err), -EIO);
	assert_non_null(strstr(err.text, "sum 255 is 1, expected 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_device) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

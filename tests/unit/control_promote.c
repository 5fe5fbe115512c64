/* SPDX-License-Identifier: Apache-2.0 */
/* kiln experiments promote while a series goes on. */
#include "controld/methods/promote.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "tests/unit/begun.h"

/* A series that goes on cannot be judged; another one can. */
static void test_series(void **state)
{
	CLEANUP(json_free) cJSON *series = NULL;
	struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(check_ended(&call, "", &err), 0);
	series = create_a_series("waiting");
	assert_int_equal(check_ended(&call, "night-series-20200101-000000", &err), 0);
	assert_int_equal(check_ended(&call, series_id(series), &err), -EBUSY);
	assert_int_equal(call.code, CONTROL_STATE);
	assert_non_null(strstr(err.text, "the series has not ended"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_series, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests_name("control_promote", tests, NULL, NULL);
}

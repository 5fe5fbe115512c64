/* SPDX-License-Identifier: Apache-2.0 */
/* When `kiln run` starts a daemon again that has failed. */
#include "cli/foreground/daemons.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define EXITED(code) ((code) << 8) /* as waitpid() tells it */
#define SECOND       1000000u

static void test_restart_wait(void **state)
{
	static const int waits[DAEMON_RESTARTS_MAX] = { 1, 2, 4, 8, 16, 30, 30, 30, 30, 30 };
	const int failed = EXITED(EX_UNAVAILABLE), killed = SIGKILL;
	struct child child = { .started_us = SECOND };

	(void)state;
	for (uint32_t i = 0; i < DAEMON_RESTARTS_MAX; i++) {
		assert_int_equal(restart_wait_s(&child, failed, 2 * SECOND), waits[i]);
		assert_int_equal(restart_wait_s(&child, killed, 2 * SECOND), 1);
		assert_int_equal(restart_wait_s(&child, EXITED(128 + SIGKILL), 2 * SECOND),
				 1); /* of a rank */
	}
	assert_int_equal(restart_wait_s(&child, failed, 2 * SECOND), -1);
	/* A daemon that has worked for a while begins anew. */
	assert_int_equal(restart_wait_s(&child, failed, (DAEMON_GOOD_S + 1) * SECOND), 1);
}

static void test_start_again(void **state)
{
	struct child child = { .started_us = clock_us() };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(start_again(&child, EXITED(EX_OK), &err), 0);
	assert_int_equal(start_again(&child, EXITED(EX_DATAERR), &err), 0);
	assert_int_equal(daemons_exit_code(EXITED(EX_DATAERR)), EX_DATAERR);
	assert_int_equal(daemons_exit_code(EXITED(128 + SIGKILL)), EX_UNAVAILABLE);
	child.failures = DAEMON_RESTARTS_MAX;
	assert_int_equal(start_again(&child, EXITED(EX_UNAVAILABLE), &err), 0);
	stopped = 1;
	child.failures = 0;
	assert_int_equal(start_again(&child, EXITED(EX_UNAVAILABLE), &err), 0);
	stopped = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart_wait),
		cmocka_unit_test(test_start_again),
	};

	return cmocka_run_group_tests_name("daemons", tests, NULL, NULL);
}

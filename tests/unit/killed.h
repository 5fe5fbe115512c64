/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Killed at any system call: what is done runs in a child that is stopped before one call and killed there.
 * Included behind cmocka.h.
 */
#pragma once

#include "core/base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED_CALLS_MAX 5000u /* of one change; far from what any takes */
#define NO_PTRACE        99

/* False: it came to its end before that call. */
static inline bool killed_at(int (*act)(struct error *err), unsigned call)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(NO_PTRACE);
		(void)raise(SIGSTOP);
		_exit(act(NULL) < 0 ? EXIT_FAILURE : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	/* Each call stops twice, on its way in and out; it has not been done at the first. */
	for (unsigned stop = 0; WIFSTOPPED(status) && stop < 2 * call + 1; stop++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
	}
	if (WIFSTOPPED(status)) {
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		return true;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PTRACE)
		skip();
	assert_int_equal(status, 0);
	return false;
}

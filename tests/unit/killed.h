/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills a change at any system call: the change runs in a child, which is stopped before a call and killed
 * there. Include this header after cmocka.h.
 */
#pragma once

#include "core/base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED_CALLS_MAX 5000u /* system calls of a change: far more than any change needs */
#define NO_PTRACE        99

/* Runs act() in a child, which is killed before system call number `call`. Returns false if act() ended
 * earlier. */
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
	/* ptrace(2) stops twice, before and after each call; at the first stop the call is not done yet. */
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

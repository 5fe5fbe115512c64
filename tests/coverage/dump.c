/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FLAVOUR=coverage links this file into every program. gcov writes its counts at exit(). This file writes
 * them before _exit() and at SIGTERM, too. The counts of a process that SIGKILL ends are lost.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void); // NOLINT(bugprone-reserved-identifier): the name is gcc's

static void dump_and_end(int number)
{
	/* The signal may interrupt malloc(), which __gcov_dump() calls: SIGALRM ends a process that hangs
	 * there. */
	(void)alarm(5);
	__gcov_dump(); // NOLINT(bugprone-signal-handler,cert-sig30-c)
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

__attribute__((constructor)) static void catch_term(void)
{
	struct sigaction now;

	if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		(void)signal(SIGTERM, dump_and_end);
}

/* Replaces the C library's function for the program's own calls. */
void _exit(int status)
{
	__gcov_dump();
	(void)syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

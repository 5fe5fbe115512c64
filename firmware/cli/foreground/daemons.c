/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreground/daemons.h"
#include "core/base/clock.h"
#include "core/base/paths.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>

static volatile sig_atomic_t stopped;

/* A signal that comes just before waitpid(2) or sleep(3) does not interrupt it, so another one follows after
 * each second. */
static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
	(void)alarm(1);
}

void daemons_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = stop };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGALRM, &action, NULL);
}

bool daemons_are_stopped(void)
{
	return stopped;
}

/* ---- One program ---- */

/* Forks. A signal that arrives in the child before its new program runs would be lost in the handler of this
 * program, so the child begins with the default actions. Returns what fork(2) does. */
static pid_t fork_with_default_signals(void)
{
	sigset_t stops, before;
	pid_t pid;

	(void)sigemptyset(&stops);
	(void)sigaddset(&stops, SIGINT);
	(void)sigaddset(&stops, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &stops, &before);
	pid = fork();
	if (pid == 0) {
		(void)signal(SIGINT, SIG_DFL);
		(void)signal(SIGTERM, SIG_DFL);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* `stop_signal`: the signal that ends the program in order, which it also gets when this program dies. */
static int spawn(const char *name, const char *const *arguments, int stop_signal, pid_t *ret_pid,
		 struct error *err)
{
	const pid_t parent = getpid();
	char path[PATH_BYTES];
	pid_t pid;

	(void)path_of_program(name, path);
	if (access(path, X_OK) < 0 || (pid = fork_with_default_signals()) < 0)
		return error_set(err, -errno, "%s: cannot start it: %s", path, strerror(errno));
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, stop_signal);
		if (getppid() == parent)
			(void)execv(path, (char *const *)(uintptr_t)arguments);
		_exit(EX_OSERR);
	}
	*ret_pid = pid;
	return 0;
}

/* Tells whether a program ended itself. mpirun, which kiln-traind may become, ends with 128 and the number of
 * the signal that ended one of its ranks. */
static bool has_exited(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) <= 128;
}

int daemons_exit_code(int status)
{
	return has_exited(status) ? WEXITSTATUS(status) : EX_UNAVAILABLE;
}

int daemons_run_program(const char *const *arguments, struct error *err)
{
	int status, r;
	pid_t pid;

	r = spawn(arguments[0], arguments, SIGTERM, &pid, err);
	while (r == 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EX_OSERR;
	return r < 0 ? r : daemons_exit_code(status);
}

/* ---- The uploader beside the runs ---- */

static pid_t uploader; /* 0: the process has ended */

int daemons_start_uploads(struct error *err)
{
	static const char *const arguments[] = { "kiln-uploadd", NULL };

	return uploader ? 0 : spawn(arguments[0], arguments, SIGTERM, &uploader, err);
}

void daemons_end_uploads(void)
{
	int status;

	if (uploader && kill(uploader, SIGTERM) == 0)
		while (waitpid(uploader, &status, 0) < 0 && errno == EINTR)
			continue;
	uploader = 0;
}

void daemons_forget_uploads(void)
{
	uploader = 0;
}

void daemons_reaped(pid_t pid)
{
	if (pid == uploader)
		uploader = 0; /* another process may get its number */
}

/* ---- The daemons of a run ---- */

enum { FETCHD, TRAIND, UPLOADD, DAEMONS };

struct child {
	const char *arguments[3];
	int stop_signal;
	pid_t pid;           /* 0: the process has ended */
	uint64_t started_us; /* clock_us() */
	uint32_t failures;   /* in a row: ends for which the daemon starts again, each soon after its start */
};

static void end_children(const struct child *children, bool drain)
{
	for (uint32_t i = 0; i < DAEMONS; i++)
		if (children[i].pid && !(drain && i == UPLOADD))
			(void)kill(children[i].pid, children[i].stop_signal);
}

static struct child *child_of(struct child *children, pid_t pid)
{
	for (uint32_t i = 0; i < DAEMONS; i++)
		if (children[i].pid == pid)
			return &children[i];
	return NULL;
}

static int start(struct child *child, struct error *err)
{
	child->started_us = clock_us();
	return spawn(child->arguments[0], child->arguments, child->stop_signal, &child->pid, err);
}

/* Counts a failure of a daemon. Returns the seconds until its next start, longer after each failure in a row;
 * -1: it has failed too often. A signal is none of its failures. */
static int restart_wait_s(struct child *child, int status, uint64_t now_us)
{
	if (!has_exited(status))
		return 1;
	if (now_us - child->started_us >= DAEMON_GOOD_S * 1000000u)
		child->failures = 0;
	if (child->failures++ == DAEMON_RESTARTS_MAX)
		return -1;
	return child->failures > 5 ? DAEMON_WAIT_MAX_S : 1 << (child->failures - 1);
}

/* Starts a daemon again after an end that may be temporary. Returns 1 where the daemon works, 0 where it must
 * not start any more. */
static int start_again(struct child *child, int status, struct error *err)
{
	const int code = daemons_exit_code(status);
	int wait_s, r;

	if (stopped || (code != EX_UNAVAILABLE && code != EX_TEMPFAIL) ||
	    (wait_s = restart_wait_s(child, status, clock_us())) < 0)
		return 0;
	(void)sleep((unsigned)wait_s);
	if (stopped)
		return 0;
	r = start(child, err);
	return r < 0 ? r : 1;
}

/* Waits until all daemons have ended. After a failed run kiln-uploadd is not stopped, so that it finishes its
 * uploads. When kiln-traind is done, kiln-fetchd is stopped: after `kiln stop` it would wait for the trainer
 * for ever. */
static int wait_for_daemons(struct child *children, struct error *err)
{
	int code = EX_OK, status, r = 0;
	bool trained = false;

	while (children[FETCHD].pid || children[TRAIND].pid || children[UPLOADD].pid) {
		const pid_t pid = waitpid(-1, &status, 0);
		struct child *child = pid > 0 ? child_of(children, pid) : NULL;

		if (!child) {
			if (pid < 0)
				end_children(children, false); /* a signal interrupted waitpid() */
			else
				daemons_reaped(pid);
			continue;
		}
		child->pid = 0;
		if (child == &children[TRAIND] && daemons_exit_code(status) == EX_OK &&
		    children[FETCHD].pid) {
			(void)kill(children[FETCHD].pid, children[FETCHD].stop_signal);
			trained = true;
		}
		if (trained && child == &children[FETCHD])
			continue;
		if (code == EX_OK && (r = start_again(child, status, err)) == 0 &&
		    daemons_exit_code(status) != EX_OK) {
			code = daemons_exit_code(status);
			end_children(children, code == EX_DATAERR);
		}
		if (r < 0) {
			end_children(children, false);
			code = EX_OSERR;
		}
	}
	return r < 0 ? r : code;
}

int daemons_train(bool uploads, struct error *err)
{
	struct child children[DAEMONS] = {
		[FETCHD] = { .arguments = { "kiln-fetchd" }, .stop_signal = SIGTERM },
		/* SIGTERM would make mpirun kill its ranks: traind/together.h */
		[TRAIND] = { .arguments = { "kiln-traind" }, .stop_signal = SIGUSR2 },
		[UPLOADD] = { .arguments = { "kiln-uploadd", "--drain" }, .stop_signal = SIGTERM },
	};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < (uploads ? DAEMONS : UPLOADD); i++)
		r = start(&children[i], err);
	if (r < 0)
		end_children(children, false);
	return r < 0 ? r : wait_for_daemons(children, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/foreground/slots.h"
#include "cli/foreground/daemons.h"
#include "cli/foreground/trial.h"
#include "core/base/slot.h"
#include "core/series/series.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define LOOK_MS 50u /* between two looks whether a process has ended */

struct slot {
	pid_t pid;     /* 0: no process works in this slot */
	uint64_t ends; /* struct slots' when the process started */
	bool waits;
	unsigned failures; /* in a row: ends after which the slot starts again */
};

struct slots {
	const char *config, *id;
	unsigned count;
	struct slot slot[SLOTS_MAX];
	uint64_t ends; /* trials that have ended, and after which others may follow */
	int code;      /* of the first slot that failed */
};

/* ---- The process of a slot ---- */

/* Trains one trial. Returns an exit code: EX_OK = more trials may follow, or an enum series_exit, or that of
 * what failed. */
static int train_trial(const struct slots *slots, bool begun, struct error *err)
{
	const char *const begin[] = { "kiln-oneshot", "begin",   "--config", slots->config,
				      "--series",     slots->id, NULL };
	int code, r = begun ? EX_OK : daemons_run_program(begin, err);

	if (r != EX_OK)
		return r;
	if (daemons_are_stopped())
		return EX_TEMPFAIL;
	if ((code = daemons_train(false, err)) < 0)
		return code;
	if (daemons_are_stopped())
		return EX_TEMPFAIL;
	r = trial_ended(code, err);
	return r == SERIES_EXIT_NONE ? code : r;
}

static _Noreturn void work(const struct slots *slots, unsigned slot, bool begun, unsigned wait_s)
{
	struct error err = { 0 };
	char number[16];
	int r;

	(void)snprintf(number, sizeof(number), "%u", slot);
	daemons_forget_uploads();
	(void)sleep(wait_s);
	if (daemons_are_stopped())
		_exit(EX_TEMPFAIL);
	if (slot > 0 && setenv("KILN_SLOT", number, 1) < 0)
		_exit(EX_OSERR);
	r = train_trial(slots, begun, &err);
	if (r < 0)
		(void)fprintf(stderr, "slot %u: %s\n", slot, err.text);
	_exit(r < 0 ? EX_OSERR : r);
}

/* ---- All slots ---- */

static int start_after(struct slots *slots, unsigned index, bool begun, unsigned wait_s, struct error *err)
{
	struct slot *slot = &slots->slot[index];
	const pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return error_set(err, -errno, "cannot start slot %u: %s", index, strerror(errno));
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent)
			work(slots, index, begun, wait_s);
		_exit(EX_OSERR);
	}
	*slot = (struct slot){ .pid = pid, .ends = slots->ends, .failures = slot->failures };
	return 0;
}

static int start(struct slots *slots, unsigned index, bool begun, struct error *err)
{
	return start_after(slots, index, begun, 0, err);
}

/* Starts a slot again whose process was killed, or could not begin its trial, after a while. The last time
 * the slot stays without work. */
static int start_again(struct slots *slots, unsigned index, int code, struct error *err)
{
	const unsigned failures = slots->slot[index].failures++;

	if (failures == DAEMON_RESTARTS_MAX) {
		slots->code = slots->code ? slots->code : code;
		return 0;
	}
	return start_after(slots, index, false, failures < 5 ? 1u << failures : DAEMON_WAIT_MAX_S, err);
}

static void end_all(const struct slots *slots)
{
	for (unsigned i = 0; i < slots->count; i++)
		if (slots->slot[i].pid)
			(void)kill(slots->slot[i].pid, SIGTERM);
}

static bool any_works(const struct slots *slots)
{
	for (unsigned i = 0; i < slots->count; i++)
		if (slots->slot[i].pid)
			return true;
	return false;
}

/* A trial has ended: its slot goes on, and so do those that wait for work. */
static int go_on(struct slots *slots, unsigned index, struct error *err)
{
	int r = daemons_start_uploads(err);

	slots->ends++;
	slots->slot[index].waits = true;
	slots->slot[index].failures = 0;
	for (unsigned i = 0; r == 0 && i < slots->count; i++)
		if (slots->slot[i].waits)
			r = start(slots, i, false, err);
	return r;
}

/* The process of a slot has ended with this exit code. */
static int note_end(struct slots *slots, unsigned index, int code, struct error *err)
{
	struct slot *slot = &slots->slot[index];

	slot->pid = 0;
	if (daemons_are_stopped() || code == SERIES_EXIT_REST)
		code = EX_TEMPFAIL;
	switch (code) {
	case EX_OK:
		return go_on(slots, index, err);
	case SERIES_EXIT_WAIT:
		/* A trial may have ended after the slot had looked for work. */
		if (slots->ends > slot->ends)
			return start(slots, index, false, err);
		slot->waits = true;
		return 0;
	case SERIES_EXIT_OVER:
		return 0;
	case EX_UNAVAILABLE:
		return start_again(slots, index, code, err);
	default:
		slots->code = slots->code ? slots->code : code;
		return 0;
	}
}

static int index_of(const struct slots *slots, pid_t pid)
{
	for (unsigned i = 0; i < slots->count; i++)
		if (slots->slot[i].pid == pid)
			return (int)i;
	return -1;
}

/* Waits until every process has ended, and starts none. Returns `r`. */
static int give_up(const struct slots *slots, int r)
{
	end_all(slots);
	for (unsigned i = 0; i < slots->count; i++)
		while (slots->slot[i].pid && waitpid(slots->slot[i].pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	return r;
}

static int wait_for_all(struct slots *slots, struct error *err)
{
	bool ended = false;
	int status, r;

	while (any_works(slots)) {
		/* A signal may come at any time, so no call blocks until a process ends. */
		const pid_t pid = waitpid(-1, &status, WNOHANG);
		const int index = pid > 0 ? index_of(slots, pid) : -1;

		if (daemons_are_stopped() && !ended)
			end_all(slots);
		ended = daemons_are_stopped();
		if (pid < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot wait for the slots: %s", strerror(errno));
		if (pid == 0)
			(void)usleep(LOOK_MS * 1000);
		else if (index < 0)
			daemons_reaped(pid);
		else if ((r = note_end(slots, (unsigned)index, daemons_exit_code(status), err)) < 0)
			return give_up(slots, r);
	}
	return slots->code;
}

int slots_train(const char *config, const char *id, unsigned count, bool begun, struct error *err)
{
	struct slots slots = { .config = config, .id = id, .count = count };
	int r = 0;

	for (unsigned i = 0; r == 0 && i < count; i++)
		r = start(&slots, i, begun && i == 0, err);
	return r < 0 ? give_up(&slots, r) : wait_for_all(&slots, err);
}

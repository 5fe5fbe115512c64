/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/ranks.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/ranks/members.h"
#include "core/ring/cursor.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define POLL_MS   100u
#define LONGEST_S 120u /* more than a pause between two looks takes on a busy box */

static struct {
	struct ranks_members members; /* those that ranks_find() has found; boxes = 0: they do not change */
	uint32_t first, count, world; /* the ranks of this box; count = 0: no children */
	_Atomic bool ending;          /* ranks_again() ends the children */
	pid_t pid[CURSOR_PLACES_MAX]; /* by index on the box */
	pthread_t waits;
} ranks;

/* ---- Which ranks ---- */

/* Reads the boxes that train. Returns 1, and 0 where there is no file yet: another process writes it. */
static int look_for_members(struct ranks_members *ret_members, struct error *err)
{
	int r = ranks_members_read(ret_members, err);

	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

static int wait_for_members(struct ranks_members *ret_members, struct error *err)
{
	int r = look_for_members(ret_members, err);

	if (r == 0)
		log_info("waiting until it is known which boxes train");
	while (r == 0) {
		notify_extend(LONGEST_S);
		notify_status("waiting for other boxes");
		(void)usleep(POLL_MS * 1000);
		r = look_for_members(ret_members, err);
	}
	return r < 0 ? r : 0;
}

int ranks_find(const struct run *run, struct ranks_started *ret_ranks, struct error *err)
{
	const bool final = run_state_is_final(run->state);
	const uint32_t count = final ? 1 : (uint32_t)run->config.device.count;
	struct ranks_members members = { .boxes = 1 };
	int r = 0;

	if (!final && *run->config.ranks.boxes) {
		r = wait_for_members(&members, err);
		ranks.members = members;
	}
	*ret_ranks = (struct ranks_started){ .world = members.boxes * count,
					     .rank = members.own * count,
					     .locals = count };
	return r;
}

bool ranks_have_changed(void)
{
	struct ranks_members now;

	return ranks.members.boxes > 0 && ranks_members_read(&now, NULL) == 0 &&
	       (now.boxes != ranks.members.boxes || now.own != ranks.members.own);
}

/* ---- The children ---- */

/* Becomes the kiln-fetchd of a rank. `parent`: the process of the first rank. */
_Noreturn static void become(uint32_t rank, pid_t parent)
{
	char rank_text[16], world_text[16], first_text[16], count_text[16];

	(void)snprintf(rank_text, sizeof(rank_text), "%u", rank);
	(void)snprintf(world_text, sizeof(world_text), "%u", ranks.world);
	(void)snprintf(first_text, sizeof(first_text), "%u", ranks.first);
	(void)snprintf(count_text, sizeof(count_text), "%u", ranks.count);
	/* systemd hears of the first rank alone. */
	(void)unsetenv("NOTIFY_SOCKET");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		(void)execl("/proc/self/exe", "kiln-fetchd", "--rank", rank_text, "--world", world_text,
			    "--first", first_text, "--count", count_text, (char *)NULL);
	_exit(EX_OSERR);
}

static uint32_t rank_of(pid_t pid)
{
	uint32_t local = 1;

	while (local < ranks.count && ranks.pid[local] != pid)
		local++;
	return ranks.first + local;
}

/* Says how a child has ended, and ends this process with its exit status. */
_Noreturn static void fail(pid_t pid, int status)
{
	struct error err = { 0 };

	if (WIFEXITED(status)) {
		/* The child has logged its error, and noted it for the next start. */
		log_err("rank %u of %u: kiln-fetchd has ended with exit status %d, so all ranks of this box "
			"end",
			rank_of(pid), ranks.world, WEXITSTATUS(status));
		_exit(WEXITSTATUS(status));
	}
	(void)error_set(&err, -EIO,
			"rank %u of %u: signal %d has ended kiln-fetchd, so all ranks of this box end",
			rank_of(pid), ranks.world, WTERMSIG(status));
	_exit(alive_fatal(STATUS_FETCHD, &err));
}

/* Waits for all children: a thread, because the first rank has its own work. */
static void *wait_for_all(void *unused)
{
	(void)unused;
	for (uint32_t left = ranks.count - 1; left > 0;) {
		int status;
		const pid_t pid = waitpid(-1, &status, 0);

		if (pid < 0)
			continue; /* a signal interrupted it */
		if (!ranks.ending && (!WIFEXITED(status) || WEXITSTATUS(status) != EX_OK))
			fail(pid, status);
		left--;
	}
	return NULL;
}

int ranks_start(const struct ranks_started *wish, struct error *err)
{
	const pid_t parent = getpid();
	int r;

	if (wish->locals == 1)
		return 0;
	ranks.first = wish->rank;
	ranks.count = wish->locals;
	ranks.world = wish->world;
	for (uint32_t local = 1; local < wish->locals; local++) {
		const pid_t pid = fork();

		if (pid < 0)
			return error_set(err, -errno, "rank %u of %u: cannot start kiln-fetchd: %s",
					 wish->rank + local, wish->world, strerror(errno));
		if (pid == 0)
			become(wish->rank + local, parent);
		ranks.pid[local] = pid;
	}
	r = pthread_create(&ranks.waits, NULL, wait_for_all, NULL);
	if (r != 0) {
		ranks.count = 0;
		return error_set(err, -r, "cannot start the thread that waits for the other ranks: %s",
				 strerror(r));
	}
	return 0;
}

void ranks_wait(void)
{
	if (ranks.count > 0)
		(void)pthread_join(ranks.waits, NULL);
}

int ranks_again(struct error *err)
{
	char self[] = "kiln-fetchd", *words[] = { self, NULL };

	/* The new process pings systemd when it has its ring. */
	alive_lease(alive_worker("the new start"), "starting again: other boxes train now", LONGEST_S);
	ranks.ending = true;
	for (uint32_t local = 1; local < ranks.count; local++)
		(void)kill(ranks.pid[local], SIGKILL);
	ranks_wait();
	(void)execv("/proc/self/exe", words);
	return error_set(err, -errno, "kiln-fetchd cannot start again: %s", strerror(errno));
}

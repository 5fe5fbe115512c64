/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/ranks.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/ring/cursor.h"
#include "drivers/notify/alive.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static struct {
	uint32_t world; /* 0 = no children */
	pid_t pid[CURSOR_PLACES_MAX];
	pthread_t waits;
} ranks;

/* Becomes the kiln-fetchd of a rank. `parent`: the process of rank 0. */
_Noreturn static void become(uint32_t rank, uint32_t world, pid_t parent)
{
	char rank_text[16], world_text[16];

	(void)snprintf(rank_text, sizeof(rank_text), "%u", rank);
	(void)snprintf(world_text, sizeof(world_text), "%u", world);
	/* systemd hears of rank 0 alone. */
	(void)unsetenv("NOTIFY_SOCKET");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		(void)execl("/proc/self/exe", "kiln-fetchd", "--rank", rank_text, "--world", world_text,
			    (char *)NULL);
	_exit(EX_OSERR);
}

static uint32_t rank_of(pid_t pid)
{
	uint32_t rank = 1;

	while (rank < ranks.world && ranks.pid[rank] != pid)
		rank++;
	return rank;
}

/* Says how a child has ended, and ends this process with its exit status. */
_Noreturn static void fail(pid_t pid, int status)
{
	struct error err = { 0 };

	if (WIFEXITED(status)) {
		/* The child has logged its error, and noted it for the next start. */
		log_err("rank %u of %u: kiln-fetchd has ended with exit status %d, so all ranks end",
			rank_of(pid), ranks.world, WEXITSTATUS(status));
		_exit(WEXITSTATUS(status));
	}
	(void)error_set(&err, -EIO, "rank %u of %u: signal %d has ended kiln-fetchd, so all ranks end",
			rank_of(pid), ranks.world, WTERMSIG(status));
	_exit(alive_fatal(STATUS_FETCHD, &err));
}

/* Waits for all children: a thread, because rank 0 has its own work. */
static void *wait_for_all(void *unused)
{
	(void)unused;
	for (uint32_t left = ranks.world - 1; left > 0;) {
		int status;
		const pid_t pid = waitpid(-1, &status, 0);

		if (pid < 0)
			continue; /* a signal interrupted it */
		if (!WIFEXITED(status) || WEXITSTATUS(status) != EX_OK)
			fail(pid, status);
		left--;
	}
	return NULL;
}

int ranks_start(uint32_t world, struct error *err)
{
	const pid_t parent = getpid();
	int r;

	for (uint32_t rank = 1; rank < world; rank++) {
		const pid_t pid = fork();

		if (pid < 0)
			return error_set(err, -errno, "rank %u of %u: cannot start kiln-fetchd: %s", rank,
					 world, strerror(errno));
		if (pid == 0)
			become(rank, world, parent);
		ranks.pid[rank] = pid;
	}
	ranks.world = world;
	r = pthread_create(&ranks.waits, NULL, wait_for_all, NULL);
	if (r != 0) {
		ranks.world = 0;
		return error_set(err, -r, "cannot start the thread that waits for the other ranks: %s",
				 strerror(r));
	}
	return 0;
}

void ranks_wait(void)
{
	if (ranks.world > 0)
		(void)pthread_join(ranks.waits, NULL);
}

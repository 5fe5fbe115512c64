/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/wait.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "drivers/notify/notify.h"
#include "traind/train.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define SAY_EVERY_US 300000000u
#define WAIT_S       300u /* each nap asks systemd for this much more time */

static atomic_bool stop_asked;

static void ask_stop(int signal_number)
{
	(void)signal_number;
	atomic_store(&stop_asked, true);
}

void wait_catch_signals(void)
{
	sigset_t set;

	(void)signal(SIGTERM, ask_stop);
	(void)signal(SIGINT, ask_stop);
	/* Blocked, because LLVM, which compiles kernels in this process, sets a handler of its own for it. */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static bool is_pending(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, SIGUSR2) == 1;
}

int wait_stopped(struct error *err)
{
	return atomic_load(&stop_asked) || is_pending() ? error_set(err, -ECANCELED, "asked to stop") : 0;
}

static void nap(struct train *train, uint32_t ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	(void)nanosleep(&pause, NULL);
	alive_tick(train->worker);
}

int wait_ms(struct train *train, uint32_t ms, struct error *err)
{
	nap(train, ms);
	return wait_stopped(err);
}

void wait_for(struct train *train, uint32_t ms, const char *what, uint64_t *said_us)
{
	const enum stage before = stages_enter(&train->stages, STAGE_WAITING);
	const uint64_t now = clock_us();

	if (*said_us == 0 || now - *said_us >= SAY_EVERY_US) {
		log_info("waiting for %s", what);
		publish_phase(train, "waiting", "for %s", what);
		*said_us = now;
	}
	notify_extend(WAIT_S);
	nap(train, ms);
	(void)stages_enter(&train->stages, before);
}

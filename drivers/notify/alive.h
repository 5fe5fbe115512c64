/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staying alive under systemd: the watchdog, and the wait after a crash.
 *
 * A worker is a thread that must not stand still. It ticks whenever it gets somewhere, a wait that wakes
 * included, at least every quarter of WatchdogSec=; for what takes longer it takes a lease, a phase with a
 * deadline. A thread of this module pings systemd while every worker moved lately or holds a lease that has
 * not run out. Without WATCHDOG_USEC in the environment nothing is pinged.
 *
 * To be alive is not to get on: a worker that waits ticks, too. What forgives old crashes is progress, the
 * work that a daemon is there for: a step of traind, a batch that fetchd put into the ring, a pass of uploadd
 * that found everything in the store.
 *
 * Order: alive_back_off -> alive_open -> alive_worker for each -> alive_tick and leases, any thread its own.
 */
#pragma once

#include "core/base/error.h"
#include "core/run/status.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ALIVE_WORKERS_MAX  264u
#define ALIVE_DEGRADED_AT  5u   /* failures in a row from which on status says so */
#define ALIVE_GOOD_MINUTES 5u   /* of progress, after which they are forgiven */
#define ALIVE_BACK_OFF_MAX 300u /* s */

struct alive_worker {
	const char *name;
	_Atomic uint64_t ticks, lease_until_us; /* clock_us(); 0 = none */
	bool lengthened;                        /* systemd was told of a longer time */
	uint64_t seen_ticks, seen_us;           /* the pinging thread's */
};

/* Start to ping. */
void alive_open(void);

/* A new worker, alive as of now; `name` stays the caller's. NULL: there are ALIVE_WORKERS_MAX. */
struct alive_worker *alive_worker(const char *name);

/* It got somewhere. NULL does nothing. */
static inline void alive_tick(struct alive_worker *worker)
{
	/* relaxed: only that it changes matters. */
	if (worker)
		atomic_fetch_add_explicit(&worker->ticks, 1, memory_order_relaxed);
}

/* It may be silent for `seconds`. With a `phase`, not NULL, that is the service's STATUS=, and systemd is
 * told where it is longer than WatchdogSec=. */
void alive_lease(struct alive_worker *worker, const char *phase, unsigned seconds);
void alive_lease_end(struct alive_worker *worker);

/* NULL, or the name of a worker that stood still for longer than `patience_us`. For one thread only. */
const char *alive_stuck(uint64_t now_us, uint64_t patience_us);

/* ---- After a crash ---- */

/* Seconds to wait before the attempt that follows so many failures: 0, 1, 2, 4 ... ALIVE_BACK_OFF_MAX. */
unsigned alive_back_off_s(uint32_t failures);

/* First thing in main(): how often systemd restarted this service since its last ALIVE_GOOD_MINUTES of
 * progress; wait accordingly, before READY=1, and tell systemd and the status page why. From
 * ALIVE_DEGRADED_AT failures on every page of this process says so until they are forgiven. */
void alive_back_off(enum status_daemon daemon);

/* The same for kiln-NAME.service, which does one thing and ends: nothing is forgiven, it has no page, and to
 * its restarts come the failures of this process, which tries again by itself. False: no systemd looks after
 * it, so that it has one try, without a wait. */
bool alive_back_off_oneshot(const char *name, uint32_t failures, const char *reason);

/* The daemon got on with its work; any thread. */
void alive_progress(void);

/* Whether there were ALIVE_GOOD_MINUTES in each of which there was progress since the minute before. For one
 * thread only, which asks more often than that. */
bool alive_recovered(uint64_t now_us);

/* Log the error as the reason that the next process gives for its wait; the exit code, as fatal(). */
int alive_fatal(enum status_daemon daemon, const struct error *err);

/* That reason, until the daemon begins again; false: it said none. */
bool alive_last_words(enum status_daemon daemon, char *out, size_t size);

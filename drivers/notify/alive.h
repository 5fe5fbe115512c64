/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog of systemd, and the wait after a crash.
 *
 * A worker is a thread that must not hang. It ticks at least every quarter of WatchdogSec=: after each piece
 * of work, and each time it wakes up from a wait. Before an operation that takes longer it takes a lease,
 * which is a phase with a deadline. A thread of this module pings systemd as long as every worker has ticked
 * lately or holds a valid lease. Without WATCHDOG_USEC in the environment there are no pings.
 *
 * To be alive is not to make progress: a worker that only waits ticks, too. A daemon that crashes again and
 * again waits longer before each new start. These failures are forgotten after ALIVE_GOOD_MINUTES of
 * progress. Progress is a piece of the daemon's real work: a step of traind, a batch that fetchd put into the
 * ring, a pass of uploadd that found everything in the store.
 *
 * Threads: one of its own, from alive_open() on. Each worker ticks from its own thread.
 * Order: alive_back_off -> alive_open -> alive_worker for each -> alive_tick and leases.
 * Crash: two files survive it: the number of restarts that no longer count, and the error with which the
 * daemon ended, its last words (back_off.c).
 */
#pragma once

#include "core/base/error.h"
#include "core/run/status.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ALIVE_WORKERS_MAX  520u /* fetchd: 256 decode workers, 32 sources of 8 network threads, 4 others */
#define ALIVE_DEGRADED_AT  5u   /* after so many failures in a row the status page says "degraded" */
#define ALIVE_GOOD_MINUTES 5u   /* after so many minutes of progress old failures are forgiven */
#define ALIVE_BACK_OFF_MAX 300u /* s */

struct alive_worker {
	const char *name;
	/* lease_until_us: clock_us() at which the lease ends; 0 = no lease */
	_Atomic uint64_t ticks, lease_until_us;
	bool lengthened;              /* systemd's WatchdogSec= is extended for the present lease */
	uint64_t seen_ticks, seen_us; /* what the pinging thread saw last, and when */
};

/* Starts the thread that pings systemd. */
void alive_open(void);

/* Adds a worker, which counts as alive from now on. `name` must outlive it. NULL: there are ALIVE_WORKERS_MAX
 * already. */
struct alive_worker *alive_worker(const char *name);

/* Notes that the worker is alive. NULL does nothing. */
static inline void alive_tick(struct alive_worker *worker)
{
	/* relaxed: readers only look whether the count has changed. */
	if (worker)
		atomic_fetch_add_explicit(&worker->ticks, 1, memory_order_relaxed);
}

/* Allows the worker to be silent for `seconds`. A `phase` (NULL = none) becomes the service's STATUS=. Where
 * the lease is longer than WatchdogSec=, and only with a phase, systemd's own time limit is extended, too. */
void alive_lease(struct alive_worker *worker, const char *phase, unsigned seconds);
void alive_lease_end(struct alive_worker *worker);
/* The same within another lease, for each of many short waits that may become long: alive_wait_begin()
 * returns what alive_wait_end() gives back. */
MUST_CHECK uint64_t alive_wait_begin(struct alive_worker *worker, unsigned seconds);
void alive_wait_end(struct alive_worker *worker, uint64_t before);

/* Returns the name of a worker that has not ticked for longer than `patience_us` and has no valid lease;
 * NULL: there is none. Only one thread may call it. */
const char *alive_stuck(uint64_t now_us, uint64_t patience_us);

/* ---- After a crash ---- */

/* Returns the seconds to wait before the next attempt after so many failures: 0, 1, 2, 4 ...
 * ALIVE_BACK_OFF_MAX.
 */
unsigned alive_back_off_s(uint32_t failures);

/* To be called first in main(), before READY=1. Waits; the time depends on how often systemd has restarted
 * this service since it last made progress for ALIVE_GOOD_MINUTES. Tells systemd and the status page the
 * reason. From ALIVE_DEGRADED_AT failures on the status page says "degraded" until the failures are forgiven.
 */
void alive_back_off(enum status_daemon daemon);

/* Returns how often this daemon has failed in a row, as alive_back_off() found it; 0 without systemd. */
uint32_t alive_failures(void);

/* Waits as alive_back_off() does, for kiln-NAME.service, which does one thing and ends. Such a service has no
 * status page, and its failures are never forgiven. Such a service may also try again within one process:
 * `failures`, those of this process, are added to the restarts. Returns false, without a wait, where systemd
 * does not supervise the process: then the caller gives up after its first try. */
bool alive_back_off_oneshot(const char *name, uint32_t failures, const char *reason);

/* Notes progress of the daemon. Any thread may call. */
void alive_progress(void);

/* Returns whether there was progress in each of ALIVE_GOOD_MINUTES minutes. Only one thread may call it, more
 * often than once a minute. */
bool alive_recovered(uint64_t now_us);

/* Logs the error and saves it in a file (the last words), so that the next process can say why it waits.
 * Returns the exit code, as fatal() does. */
int alive_fatal(enum status_daemon daemon, const struct error *err);

/* Reads the error with which a daemon ended. Returns false where there is none, or where the daemon has
 * started again. */
bool alive_last_words(enum status_daemon daemon, char *out, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/notify/alive.h"

#include "core/base/clock.h"
#include "core/base/events.h"
#include "drivers/notify/back_off.h"
#include "drivers/notify/notify.h"

#include <inttypes.h>
#include <pthread.h>
#include <systemd/sd-daemon.h>

#define MINUTE_US ((uint64_t)60 * 1000000)

static struct {
	struct alive_worker worker[ALIVE_WORKERS_MAX];
	_Atomic unsigned workers;
	uint64_t watchdog_us;
	_Atomic uint64_t progress;
	/* Owned by the pinging thread: the value of `progress` that it saw last, the start of the current
	 * minute, and the number of minutes with progress before that. */
	uint64_t seen_progress, minute_us;
	unsigned good_minutes;
} alive;

struct alive_worker *alive_worker(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct alive_worker *worker = NULL;
	unsigned index;

	(void)pthread_mutex_lock(&lock);
	index = atomic_load(&alive.workers);
	if (index < ALIVE_WORKERS_MAX) {
		worker = &alive.worker[index];
		worker->name = name;
		worker->seen_us = clock_us();
		/* release, pairs with the acquire in alive_stuck(), which must see the worker's members as
		 * set above. */
		atomic_store_explicit(&alive.workers, index + 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&lock);
	return worker;
}

void alive_lease(struct alive_worker *worker, const char *phase, unsigned seconds)
{
	uint64_t us = (uint64_t)seconds * 1000000;

	if (phase)
		notify_status("%s", phase);
	if (!worker)
		return;
	atomic_store(&worker->lease_until_us, clock_us() + us);
	if (phase && alive.watchdog_us && us > alive.watchdog_us) {
		worker->lengthened = true;
		(void)sd_notifyf(0, "WATCHDOG=1\nWATCHDOG_USEC=%" PRIu64, us);
	}
}

void alive_lease_end(struct alive_worker *worker)
{
	if (!worker)
		return;
	alive_tick(worker);
	atomic_store(&worker->lease_until_us, 0);
	if (worker->lengthened)
		(void)sd_notifyf(0, "WATCHDOG=1\nWATCHDOG_USEC=%" PRIu64, alive.watchdog_us);
	worker->lengthened = false;
}

uint64_t alive_wait_begin(struct alive_worker *worker, unsigned seconds)
{
	if (!worker)
		return 0;
	return atomic_exchange(&worker->lease_until_us, clock_us() + (uint64_t)seconds * 1000000);
}

void alive_wait_end(struct alive_worker *worker, uint64_t before)
{
	if (!worker)
		return;
	alive_tick(worker);
	atomic_store(&worker->lease_until_us, before);
}

const char *alive_stuck(uint64_t now_us, uint64_t patience_us)
{
	unsigned workers = atomic_load_explicit(&alive.workers, memory_order_acquire);

	for (unsigned i = 0; i < workers; i++) {
		struct alive_worker *worker = &alive.worker[i];
		uint64_t ticks = atomic_load_explicit(&worker->ticks, memory_order_relaxed);

		if (ticks != worker->seen_ticks) {
			worker->seen_ticks = ticks;
			worker->seen_us = now_us;
		}
		if (now_us >= atomic_load(&worker->lease_until_us) && now_us > worker->seen_us &&
		    now_us - worker->seen_us > patience_us)
			return worker->name;
	}
	return NULL;
}

void alive_progress(void)
{
	/* relaxed: readers only look whether the count has changed. */
	atomic_fetch_add_explicit(&alive.progress, 1, memory_order_relaxed);
}

bool alive_recovered(uint64_t now_us)
{
	uint64_t progress = atomic_load_explicit(&alive.progress, memory_order_relaxed);

	if (progress == alive.seen_progress)
		return false;
	if (alive.seen_progress == 0) {
		alive.minute_us = now_us;
	} else if (now_us - alive.minute_us >= MINUTE_US) {
		alive.minute_us = now_us;
		alive.good_minutes++;
	}
	alive.seen_progress = progress;
	return alive.good_minutes >= ALIVE_GOOD_MINUTES;
}

static void *ping(void *context)
{
	const uint64_t quarter_us = alive.watchdog_us / 4;
	const struct timespec nap = { .tv_sec = (time_t)(quarter_us / 1000000),
				      .tv_nsec = (long)(quarter_us % 1000000) * 1000 };
	bool said = false, good = false;

	(void)context;
	for (;; (void)nanosleep(&nap, NULL)) {
		uint64_t now_us = clock_us();
		const char *stuck = alive_stuck(now_us, alive.watchdog_us / 2);

		if (!stuck)
			(void)sd_notify(0, "WATCHDOG=1");
		else if (!said)
			event_send(&(struct event){ .id = EVENT_SERVICE_STUCK },
				   "%s hangs: the watchdog will end this process", stuck);
		said = stuck != NULL;
		if (!good && alive_recovered(now_us)) {
			back_off_forget();
			good = true;
		}
	}
	return NULL;
}

void alive_open(void)
{
	pthread_t thread;

	if (sd_watchdog_enabled(0, &alive.watchdog_us) <= 0)
		alive.watchdog_us = 0;
	else if (pthread_create(&thread, NULL, ping, NULL) == 0)
		(void)pthread_detach(thread);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define TICK_NS 1000000L /* how long messages that were sent may stay here while there is no work */

void worker_init(struct worker *worker)
{
	atomic_init(&worker->pump.abort_code, PUMP_GOES_ON);
	(void)pthread_mutex_init(&worker->lock, NULL);
	(void)pthread_cond_init(&worker->begun, NULL);
	(void)pthread_cond_init(&worker->complete, NULL);
}

/* ---- The thread that calls MPI ---- */

static int enter(struct worker *worker, struct error *err)
{
	struct pump *pump = &worker->pump;
	char why[LIBRARY_WHY_BYTES];
	uint32_t world, rank;
	const int r = pump->library->open(&world, &rank, why);

	if (r < 0)
		return error_set(err, r, "the ranks do not find each other: %s", why);
	if (world != pump->world)
		return error_set(err, -EINVAL,
				 "the launcher started a world of %" PRIu32 ", expected one of %" PRIu32,
				 world, pump->world);
	pump->rank = rank;
	rank_groups_enter(&pump->groups, rank);
	return pump_open(pump, err);
}

static void signal_entered(struct worker *worker, const struct error *failure)
{
	(void)pthread_mutex_lock(&worker->lock);
	worker->entered = true;
	worker->open = failure->code == 0;
	worker->failure = *failure;
	(void)pthread_cond_broadcast(&worker->complete);
	(void)pthread_mutex_unlock(&worker->lock);
}

/* Waits for the next job. While there is none, moves what was sent on, and ends all ranks when asked to.
 * Returns false when the rank leaves. */
static bool next_job(struct worker *worker, struct pump_job *ret_job)
{
	bool leaves;

	(void)pthread_mutex_lock(&worker->lock);
	while (worker->jobs_begun == worker->jobs_complete && !worker->leaves) {
		struct timespec until;

		(void)clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		if (pthread_cond_clockwait(&worker->begun, &worker->lock, CLOCK_MONOTONIC, &until) !=
		    ETIMEDOUT)
			continue;
		(void)pthread_mutex_unlock(&worker->lock);
		pump_obey(&worker->pump);
		worker->pump.library->tick();
		(void)pthread_mutex_lock(&worker->lock);
	}
	leaves = worker->jobs_begun == worker->jobs_complete;
	*ret_job = worker->job[worker->jobs_complete % RANKS_PENDING_MAX];
	(void)pthread_mutex_unlock(&worker->lock);
	return !leaves;
}

static void complete_job(struct worker *worker, const struct error *failure)
{
	(void)pthread_mutex_lock(&worker->lock);
	worker->jobs_complete++;
	if (failure->code < 0)
		worker->failure = *failure;
	(void)pthread_cond_broadcast(&worker->complete);
	(void)pthread_mutex_unlock(&worker->lock);
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	struct error failure = { 0 };
	struct pump_job job;
	int r = enter(worker, &failure);

	signal_entered(worker, &failure);
	while (worker->open && next_job(worker, &job)) {
		if (r == 0)
			r = pump_run(&worker->pump, &job, &failure);
		complete_job(worker, &failure);
	}
	if (r == 0 && worker->failure.code == 0)
		worker->pump.library->close();
	return NULL;
}

/* Starts the thread with all signals blocked: those of the process go to the caller's threads. */
int worker_start(struct worker *worker, struct error *err)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&worker->thread, NULL, run, worker);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	worker->running = r == 0;
	if (r != 0)
		return error_set(err, -r, "ranks: no thread: %s", strerror(r));
	(void)pthread_mutex_lock(&worker->lock);
	while (!worker->entered)
		(void)pthread_cond_wait(&worker->complete, &worker->lock);
	(void)pthread_mutex_unlock(&worker->lock);
	return worker->open ? 0 : error_set(err, worker->failure.code, "%s", worker->failure.text);
}

/* ---- Jobs ---- */

/* Returns the failure of the world, if there is one. The caller holds the lock. */
static int tell_failure(const struct worker *worker, struct error *err)
{
	return worker->failure.code < 0 ? error_set(err, worker->failure.code, "%s", worker->failure.text)
					: 0;
}

int worker_begin(struct worker *worker, const struct pump_job *job, uint64_t *ret_ticket, struct error *err)
{
	int r;

	(void)pthread_mutex_lock(&worker->lock);
	while (worker->jobs_begun - worker->jobs_complete == RANKS_PENDING_MAX)
		(void)pthread_cond_wait(&worker->complete, &worker->lock);
	r = tell_failure(worker, err);
	if (r == 0) {
		worker->job[worker->jobs_begun % RANKS_PENDING_MAX] = *job;
		*ret_ticket = ++worker->jobs_begun;
		(void)pthread_cond_signal(&worker->begun);
	}
	(void)pthread_mutex_unlock(&worker->lock);
	return r;
}

int worker_wait(struct worker *worker, uint64_t ticket, struct error *err)
{
	int r;

	(void)pthread_mutex_lock(&worker->lock);
	while (worker->jobs_complete < ticket)
		(void)pthread_cond_wait(&worker->complete, &worker->lock);
	r = tell_failure(worker, err);
	(void)pthread_mutex_unlock(&worker->lock);
	return r;
}

void worker_done(struct worker *worker)
{
	if (worker->running) {
		(void)pthread_mutex_lock(&worker->lock);
		worker->leaves = true;
		(void)pthread_cond_signal(&worker->begun);
		(void)pthread_mutex_unlock(&worker->lock);
		(void)pthread_join(worker->thread, NULL);
	}
	/* After a failure Open MPI may write into the segments until the process ends. */
	if (worker->failure.code == 0)
		pump_done(&worker->pump);
	(void)pthread_cond_destroy(&worker->complete);
	(void)pthread_cond_destroy(&worker->begun);
	(void)pthread_mutex_destroy(&worker->lock);
}

_Noreturn void worker_abort(struct worker *worker, int code)
{
	/* release, pairs with the acquire in pump_obey(). */
	atomic_store_explicit(&worker->pump.abort_code, code, memory_order_release);
	for (;;)
		(void)pause();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that calls MPI, and the jobs that it has to do, one after another. Order: worker_init ->
 * worker_start -> (worker_begin, worker_wait)* -> worker_done. Between jobs the thread wakes once a
 * millisecond, because MPI moves messages on only while somebody calls it.
 */
#pragma once

#include "drivers/ranks/pump.h"

#include <pthread.h>

struct worker {
	struct pump pump; /* library, world, patience_us and where are set before worker_start() */
	pthread_t thread;
	bool running;

	pthread_mutex_t lock; /* for all below */
	pthread_cond_t begun, complete;
	struct pump_job job[RANKS_PENDING_MAX]; /* job n is in n % RANKS_PENDING_MAX */
	uint64_t jobs_begun, jobs_complete;
	bool entered, open, leaves;
	struct error failure; /* code 0 = none */
};

void worker_init(struct worker *worker);
/* Starts the thread and joins the world. Errors: those of ranks_open(). */
MUST_CHECK int worker_start(struct worker *worker, struct error *err);
/* Queues a job. Blocks while RANKS_PENDING_MAX are not complete. Errors: that of an earlier job. */
MUST_CHECK int worker_begin(struct worker *worker, const struct pump_job *job, uint64_t *ret_ticket,
			    struct error *err);
/* Blocks until the job is complete. Errors: that of any job so far. */
MUST_CHECK int worker_wait(struct worker *worker, uint64_t ticket, struct error *err);
/* Ends all ranks. Any thread may call. */
_Noreturn void worker_abort(struct worker *worker, int code);
/* Completes the jobs, leaves the world if no job failed, and frees what the worker has. */
void worker_done(struct worker *worker);

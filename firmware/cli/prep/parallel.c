/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 40u
#define PLAIN_S   5

static uint32_t threads_wanted;

struct loop {
	void (*job)(void *context, uint32_t index);
	void *context;
	uint32_t jobs, next;
};

void parallel_threads(uint32_t threads)
{
	threads_wanted = threads < PARALLEL_THREADS_MAX ? threads : PARALLEL_THREADS_MAX;
}

uint32_t parallel_count(void)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return threads_wanted ? threads_wanted : cores > 0 ? (uint32_t)cores : 1;
}

static void *loop_thread(void *argument)
{
	struct loop *loop = argument;
	uint32_t index;

	while ((index = __atomic_fetch_add(&loop->next, 1, __ATOMIC_RELAXED)) < loop->jobs)
		loop->job(loop->context, index);
	return NULL;
}

static void run(struct loop *loop, uint32_t count)
{
	uint32_t started = 0;
	pthread_t thread[PARALLEL_THREADS_MAX];

	while (started + 1 < count && started + 1 < PARALLEL_THREADS_MAX && started + 1 < loop->jobs &&
	       pthread_create(&thread[started], NULL, loop_thread, loop) == 0)
		started++;
	(void)loop_thread(loop);
	for (uint32_t i = 0; i < started; i++)
		(void)pthread_join(thread[i], NULL);
}

void parallel_run(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs)
{
	parallel_run_wide(job, context, jobs, 0);
}

void parallel_run_wide(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs,
		       uint32_t threads)
{
	struct loop loop = { job, context, jobs, 0 };
	const uint32_t count = parallel_count();

	run(&loop, count > threads ? count : threads);
}

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t progress_done;
static time_t progress_said;

void progress_start(void)
{
	progress_done = 0;
	progress_said = time(NULL);
}

void progress_step(const char *title, uint32_t total)
{
	uint32_t filled;

	(void)pthread_mutex_lock(&progress_lock);
	progress_done++;
	filled = (uint32_t)((uint64_t)progress_done * BAR_WIDTH / total);
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r%-12s [%-*.*s] %u/%u%s", title, (int)BAR_WIDTH, (int)filled,
			"########################################", progress_done, total,
			progress_done == total ? "\n" : "");
	} else if (progress_done == total || time(NULL) - progress_said >= PLAIN_S) {
		fprintf(stderr, "%s %u/%u\n", title, progress_done, total);
		progress_said = time(NULL);
	}
	(void)pthread_mutex_unlock(&progress_lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs independent jobs on several threads, and prints progress for the user. */
#pragma once

#include <stdint.h>

#define PARALLEL_THREADS_MAX 256u

/* Sets the number of threads for every later parallel_run(); 0 = one thread for each core. */
void parallel_threads(uint32_t threads);
/* Returns the number of threads of parallel_run(). */
uint32_t parallel_count(void);

/* Calls job(context, i) once for each i of 0 .. jobs-1, in any order, and returns when all jobs are done. The
 * function has the type text_parallel of data/text.h. */
void parallel_run(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs);
/* Does the same on at least `threads` threads, for jobs that wait for a network. */
void parallel_run_wide(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs,
		       uint32_t threads);

/* Sets the count of finished jobs to 0. */
void progress_start(void);
/* Counts one more finished job and prints "TITLE  123/456": as a bar on a terminal, otherwise as a line every
 * 5 s and at the end. Any thread may call it. */
void progress_step(const char *title, uint32_t total);

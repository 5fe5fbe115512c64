/* SPDX-License-Identifier: Apache-2.0 */
/* A loop over independent jobs on several threads, with progress for a person. */
#pragma once

#include <stdint.h>

/* Sets the count of threads for every later parallel_run(); 0 = one a core. */
void parallel_threads(uint32_t threads);

/* Calls job(context, i) once for each i of 0 .. jobs-1, in any order. Returns when all are done. The type is
 * that of text_parallel in data/text.h. */
void parallel_run(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs);

/* Sets the count of finished jobs to 0. */
void progress_start(void);
/* Counts one more finished job and prints "TITLE  123/456": a bar on a terminal, else a line every 5 s and at
 * the end. For any thread. */
void progress_step(const char *title, uint32_t total);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop over independent jobs on several threads, with progress for a person.
 */
#pragma once

#include <stdint.h>

/* Threads used by parallel_run() from now on; 0 = one a core. */
void parallel_threads(uint32_t threads);

/* job(context, 0 .. jobs-1), each once, in no order; returns when all are done. Fits data/text.h's
 * text_parallel. */
void parallel_run(void (*job)(void *context, uint32_t index), void *context, uint32_t jobs);

/* "TITLE  123/456": a bar on a terminal, else a plain line every 5 s and at the end. Call after each piece of
 * work, from any thread. */
void progress_step(const char *title, uint32_t total);
void progress_start(void);

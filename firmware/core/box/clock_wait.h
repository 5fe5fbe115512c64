/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A note for the time in which kiln-oneshot nightly or resume waits for the clock: a run is due or goes on,
 * but no program of the run works yet, so the status would say that the box is idle. The note is a file in
 * PATH_RUNTIME with the process that waits. Crash: the note of a process that has ended counts no more.
 */
#pragma once

#include <stdbool.h>

/* Writes the note. `verb`: the verb of kiln-oneshot that waits. A failure is ignored: the note is for status
 * alone. */
void clock_wait_begin(const char *verb, unsigned wait_s);
void clock_wait_end(void);

#define CLOCK_WAIT_VERB_BYTES 32u
/* Tells whether a process waits for the clock now, which verb, and for how many seconds at most. */
bool clock_wait_find(char verb[static CLOCK_WAIT_VERB_BYTES], unsigned *ret_left_s);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kiln-fetchds of a run that several devices train (device.count, ranks.boxes). The one that systemd or a
 * person has started serves the first rank of its box. It starts the others of the box as its children, as
 * `kiln-fetchd --rank R --world N`.
 *
 * A child that fails ends the first one, with the child's exit status, and so all of them: their supervisor
 * starts the first one again. A child gets SIGTERM when the first one ends, however that happens.
 *
 * Order: ranks_find -> ranks_start -> (ranks_have_changed)* -> ranks_wait | ranks_again. The main thread,
 * which lives as long as the process, calls all of them.
 */
#pragma once

#include "core/ranks/started.h"
#include "core/run/run.h"

#include <stdbool.h>

/* Finds out which ranks of the current run this box has. Waits until it is known which boxes train
 * (core/ranks/members.h), and asks systemd for more time meanwhile. Call it when the plan is made: the boxes
 * wait for the plan. Errors: -EBADMSG the file of boxes is damaged. */
MUST_CHECK int ranks_find(const struct run *run, struct ranks_started *ret_ranks, struct error *err);

/* Starts the other ranks of this box, and a thread that waits for them. Call it before any other thread is
 * started. Errors: -errno of fork(2) or of the thread. */
MUST_CHECK int ranks_start(const struct ranks_started *ranks, struct error *err);

/* Tells whether other boxes train now than ranks_find() has found. */
bool ranks_have_changed(void);
/* Becomes a new kiln-fetchd in the place of this one. Returns only where that fails. Errors: -errno of
 * execv(3). */
MUST_CHECK int ranks_again(struct error *err);

/* Blocks until all children have ended without an error. Without children it returns at once. */
void ranks_wait(void);

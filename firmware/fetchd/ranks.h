/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kiln-fetchds of a run that several devices of this box train (device.count). The first one, rank 0,
 * starts the others as its children, as `kiln-fetchd --rank R --world N`. systemd supervises rank 0 alone.
 *
 * A child that fails ends rank 0, with the child's exit status, and so all of them: their supervisor starts
 * rank 0 again. A child gets SIGTERM when rank 0 ends, however that happens.
 *
 * Order: ranks_start -> ranks_wait. Both are called by the main thread, which lives as long as the process.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

/* Starts ranks 1 .. world - 1, and a thread that waits for them. Call it before any other thread is started.
 * Errors: -errno of fork(2) or of the thread. */
MUST_CHECK int ranks_start(uint32_t world, struct error *err);

/* Blocks until all children have ended without an error. Without children it returns at once. */
void ranks_wait(void);

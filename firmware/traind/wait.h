/* SPDX-License-Identifier: Apache-2.0 */
/* Naps of the main thread. Each nap tells systemd's watchdog that the process works, and returns -ECANCELED
 * if SIGTERM or SIGINT has come. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct train;

/* From now on SIGTERM, SIGINT and SIGUSR2 ask the run to stop. mpirun passes SIGUSR2 on to its ranks, but not
 * SIGUSR1; where it
 * gets SIGTERM itself, it kills them. Call it before any thread is started. */
void wait_catch_signals(void);
/* Returns 0, or -ECANCELED once SIGTERM or SIGINT has come. */
MUST_CHECK int wait_stopped(struct error *err);
/* Sleeps for `ms`. */
MUST_CHECK int wait_ms(struct train *train, uint32_t ms, struct error *err);
/* Sleeps for `ms` in STAGE_WAITING and asks systemd for more time. Logs `what` at the first call, when
 * *said_us is 0, and then every few minutes. The caller checks wait_stopped(). */
void wait_for(struct train *train, uint32_t ms, const char *what, uint64_t *said_us);

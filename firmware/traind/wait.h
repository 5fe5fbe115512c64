/* SPDX-License-Identifier: Apache-2.0 */
/* Naps of the main thread. Each keeps systemd's watchdog content and ends early when SIGTERM or SIGINT has
 * come: -ECANCELED. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct train;

/* From now on SIGTERM and SIGINT ask the run to stop. */
void wait_catch_signals(void);
/* 0, or -ECANCELED once a signal has come. */
MUST_CHECK int wait_stopped(struct error *err);
/* Sleeps for `ms`. */
MUST_CHECK int wait_ms(struct train *train, uint32_t ms, struct error *err);
/* Sleeps for `ms` in STAGE_WAITING and gives systemd more time. Logs what it waits for at the first call,
 * *said_us = 0, and every few minutes. The caller checks wait_stopped(). */
void wait_for(struct train *train, uint32_t ms, const char *what, uint64_t *said_us);

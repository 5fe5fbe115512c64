/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that only moves forward (CLOCK_MONOTONIC), of which only differences mean anything; and whether the
 * time of day can be trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/timex.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_us(void)
{
	return clock_ns() / 1000;
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}

/* Whether something that keeps the time of day right says so: STA_UNSYNC until then, adjtimex(2). A sandbox
 * that forbids the question makes it unset: needs rootfs/systemd/sandbox/clock.conf. */
static inline bool clock_is_set(void)
{
	struct timex now = { 0 };

	return adjtimex(&now) >= 0 && !(now.status & STA_UNSYNC);
}

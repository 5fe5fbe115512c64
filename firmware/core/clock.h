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
#include <unistd.h>

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
 * with ProtectClock= forbids the question: there systemd-timesyncd's mark counts, and without it the clock is
 * not set.
 */
static inline bool clock_is_set(void)
{
	struct timex now = { 0 };

	if (adjtimex(&now) < 0)
		return access("/run/systemd/timesync/synchronized", F_OK) == 0;
	return !(now.status & STA_UNSYNC);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that only moves forward (CLOCK_MONOTONIC), for durations: only differences mean anything. And the
 * question whether the time of day can be trusted.
 */
#pragma once

#include <errno.h>
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

/* The kernel's NTP_PHASE_LIMIT. The kernel raises its estimate of the clock's error up to this limit while no
 * time service reports a smaller one. */
#define CLOCK_ERROR_MAX_US 16000000

/* Returns 1 where a time service keeps the time of day right, 0 where none does, or -errno where a sandbox
 * with ProtectClock= forbids the question. Do not test STA_UNSYNC: chrony sets this flag to keep the kernel
 * from writing the RTC. */
static inline int clock_synced(void)
{
	struct timex now = { 0 };

	if (adjtimex(&now) < 0)
		return -errno;
	return now.maxerror < CLOCK_ERROR_MAX_US;
}

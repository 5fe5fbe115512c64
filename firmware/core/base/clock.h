/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock for durations that only moves forward (CLOCK_MONOTONIC); only differences of two times have a
 * meaning. clock_boot_s() counts as well while the box sleeps. clock_day_us() is the time of day;
 * clock_synced() tells whether it is correct.
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

/* Returns the seconds since the boot, which no jump of the time of day changes. */
static inline double clock_boot_s(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns the Unix time. */
static inline uint64_t clock_day_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000;
}

/* Value of the kernel's NTP_PHASE_LIMIT. While no time service reports a smaller error, the kernel
 * raises its estimate of the clock's error up to this limit. */
#define CLOCK_ERROR_MAX_US 16000000

/* Returns 1 where a time service keeps the time of day correct, 0 where none does, or -errno where a sandbox
 * (ProtectClock=) forbids the system call. The flag STA_UNSYNC is not tested, because chrony sets this flag
 * to keep the kernel from writing the RTC. */
static inline int clock_synced(void)
{
	struct timex now = { 0 };

	if (adjtimex(&now) < 0)
		return -errno;
	return now.maxerror < CLOCK_ERROR_MAX_US;
}

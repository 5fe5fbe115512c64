/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that only moves forward (CLOCK_MONOTONIC), of which only differences mean anything; and whether the
 * time of day can be trusted.
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

#define CLOCK_ERROR_MAX_US \
	16000000 /* the kernel's NTP_PHASE_LIMIT: nobody told it of a smaller error lately */

/* 1: something keeps the time of day right, and tells the kernel; 0: nothing does; -errno: a sandbox with
 * ProtectClock= forbids the question. Not STA_UNSYNC: chrony sets it where the kernel is to leave the RTC
 * alone. */
static inline int clock_synced(void)
{
	struct timex now = { 0 };

	if (adjtimex(&now) < 0)
		return -errno;
	return now.maxerror < CLOCK_ERROR_MAX_US;
}

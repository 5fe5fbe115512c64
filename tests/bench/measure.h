/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the benchmarks in C: a clock, and quantiles. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Returns the time that all threads of the process have computed. */
static inline double cpu_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the quantile `share` (0 .. 1) of the values, which it sorts. */
static inline double quantile(double *values, size_t count, double share)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[(size_t)((double)(count - 1) * share)];
}

static inline double median(double *values, size_t count)
{
	return quantile(values, count, 0.5);
}

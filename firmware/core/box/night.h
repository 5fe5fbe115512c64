/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nights: when runs start and end. Turns run.days, run.at, run.zone and run.ends_at into instants (Unix time,
 * seconds).
 *
 * A night begins at run.at on each of run.days, and lasts until the next run.ends_at; without run.ends_at
 * until the next run.at. With run.days = "none" there is no night.
 *
 * Why the code computes with days and minutes, and not with seconds. Local time has gaps and repetitions:
 * when clocks go forward, a time of day such as 02:30 does not exist; when they go back, it exists twice; and
 * some days have 23 or 25 hours. So the code first finds the date of a day, and then turns the minute of this
 * day into an instant. A time that does not exist becomes the first minute after the gap, so that no night is
 * lost. Of a time that exists twice, the first one is used, so that no run starts twice. A systemd timer
 * skips a night whose time does not exist. So kiln-generator finds these nights with night_gap_next() and
 * adds their dates to the timer.
 *
 * Threads: the functions set TZ for the whole process, so only programs with one thread call them.
 */
#pragma once

#include "core/config/config.h"

/* Return the start of the last night that began at or before `now`, or of the first night after `now`; 0:
 * there is none. */
int64_t night_start(const struct config *config, int64_t now);
int64_t night_next(const struct config *config, int64_t now);
/* Returns the first run.ends_at after `start`, which is the end of a night, or of a run that began at any
 * time. Returns 0 where run.ends_at is not configured. */
int64_t night_end(const struct config *config, int64_t start);
/* Tells whether `now` is in a night. */
bool night_is(const struct config *config, int64_t now);

/* A night whose run.at does not exist in local time, and the local time at which it starts instead. */
struct night_gap {
	int year, month, day; /* month: 1 .. 12, day: 1 .. 31 */
	unsigned minutes;     /* after midnight */
	unsigned days_ahead;  /* days after the day of `from` */
};

/* Finds the first night whose run.at does not exist, within `days` days from `from`. Returns false where
 * there is none. */
bool night_gap_next(const struct config *config, int64_t from, unsigned days, struct night_gap *ret_gap);

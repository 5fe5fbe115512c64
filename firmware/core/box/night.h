/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nights: when runs start and end. Turns run.days, run.at, run.zone and run.ends_at into instants (Unix time,
 * seconds).
 *
 * A night begins at run.at on each of run.days, and lasts until the next run.ends_at; without run.ends_at
 * until the next run.at.
 *
 * Why the arithmetic is by days and minutes, and not by seconds. Local time has gaps and repetitions: when
 * clocks go forward, a time of day such as 02:30 does not exist; when they go back, it exists twice; and some
 * days have 23 or 25 hours. So a day is found by its date, and only then its minute is turned into an
 * instant. A time in a gap becomes the first minute after the gap, so that no night is lost; of a time that
 * comes twice the first counts, so that no run starts twice. systemd leaves a night out whose time is in a
 * gap, so kiln-generator asks for these nights (night_gap_next()) and gives the timer their dates.
 *
 * Threads: the functions set TZ for the whole process, so only programs with one thread call them.
 */
#pragma once

#include "core/config/config.h"

/* Return the start of the newest night that began at or before `now`, and of the first night after `now`. */
int64_t night_start(const struct config *config, int64_t now);
int64_t night_next(const struct config *config, int64_t now);
/* Returns the end of a night, or of a run that began at any time: the first run.ends_at after `start`; 0
 * where run.ends_at is not given. */
int64_t night_end(const struct config *config, int64_t start);
/* Tells whether `now` lies in a night. */
bool night_is(const struct config *config, int64_t now);

/* A night whose run.at is in a gap: the local time at which it starts instead. */
struct night_gap {
	int year, month, day; /* 1 .. 12, 1 .. 31 */
	unsigned minutes;     /* after midnight */
	unsigned days_ahead;  /* days after the day of `from` */
};

/* Finds the first such night from `from` on within `days` days; false = there is none. */
bool night_gap_next(const struct config *config, int64_t from, unsigned days, struct night_gap *ret_gap);

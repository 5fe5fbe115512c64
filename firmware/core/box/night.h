/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When runs start and end: run.days, run.at, run.zone and run.ends_at as instants (Unix time, seconds).
 *
 * A night begins at run.at on each of run.days and lasts to the next run.ends_at, without one to the next
 * run.at. A time that a night lacks because clocks go forward is the first instant after the gap; one that it
 * has twice is the first of the two.
 *
 * The functions that take a configuration set TZ for the whole process: only programs of one thread call
 * them.
 */
#pragma once

#include "core/config/config.h"

/* The start of the newest night that began at or before `now`, and of the first after it. */
int64_t night_start(const struct config *config, int64_t now);
int64_t night_next(const struct config *config, int64_t now);
/* The end of a night, or of a run begun at any other time: the first run.ends_at after `start`; without one
 * 0. */
int64_t night_end(const struct config *config, int64_t start);
/* Whether `now` lies in a night. */
bool night_is(const struct config *config, int64_t now);

/* A night whose run.at does not exist, and the instant it starts at instead, as local time. */
struct night_gap {
	int year, month, day; /* 1 .. 12, 1 .. 31 */
	unsigned minutes;     /* after midnight */
	unsigned days_ahead;  /* of the day of `from` */
};

/* The first of them from `from` on within `days` days; false = none. */
bool night_gap_next(const struct config *config, int64_t from, unsigned days, struct night_gap *ret_gap);

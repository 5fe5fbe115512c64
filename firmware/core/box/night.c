/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/night.h"

#include "core/config/local_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GAP_MINUTES (24u * 60u) /* the longest gap in local time: Samoa skipped a day in 2011 */

/* ---- Local time ---- */

static void set_zone(const struct config *config)
{
	char zone[LOCAL_ZONE_BYTES + 1];

	(void)snprintf(zone, sizeof(zone), ":%s", config->run.zone);
	(void)setenv("TZ", zone, 1);
	tzset();
}

static bool same_minute(const struct tm *a, const struct tm *b)
{
	return a->tm_mday == b->tm_mday && a->tm_hour == b->tm_hour && a->tm_min == b->tm_min;
}

/* Tells whether this minute of the day exists in local time, and returns its instant. mktime(3) accepts a
 * minute that does not exist and returns another one, so convert the result back and compare. */
static bool minute_of(const struct tm *day, unsigned minutes, int64_t *ret_time)
{
	struct tm tm = { .tm_year = day->tm_year, .tm_mon = day->tm_mon, .tm_mday = day->tm_mday };
	struct tm back, before;
	time_t time, earlier;

	tm.tm_hour = (int)(minutes / 60);
	tm.tm_min = (int)(minutes % 60);
	tm.tm_isdst = -1;
	time = mktime(&tm);
	if (!localtime_r(&time, &back) || back.tm_hour * 60 + back.tm_min != (int)(minutes % 1440))
		return false;
	/* When clocks go back, a minute exists twice, and mktime(3) may return the second one, so try the
	 * instant one hour earlier. */
	earlier = time - 3600;
	*ret_time = localtime_r(&earlier, &before) && same_minute(&before, &back) ? earlier : time;
	return true;
}

/* Returns the instant of this minute of the day. Where the minute does not exist, uses the first existing
 * minute after it. *ret_minutes is the minute used. */
static int64_t instant(const struct tm *day, unsigned minutes, unsigned *ret_minutes)
{
	int64_t time = 0;

	*ret_minutes = minutes;
	while (*ret_minutes < minutes + GAP_MINUTES && !minute_of(day, *ret_minutes, &time))
		++*ret_minutes;
	return time;
}

/* Returns the day `offset` days after the day of `now`. Computes with 12:00, so that one hour more or less
 * never changes the day. */
static void day_of(int64_t now, int offset, struct tm *ret_day)
{
	time_t time = now;
	struct tm tm = { 0 };

	(void)localtime_r(&time, &tm);
	*ret_day = (struct tm){ .tm_year = tm.tm_year,
				.tm_mon = tm.tm_mon,
				.tm_mday = tm.tm_mday + offset,
				.tm_hour = 12,
				.tm_isdst = -1 };
	(void)mktime(ret_day);
}

struct times {
	unsigned days, at, ends_at;
};

static struct times open_times(const struct config *config)
{
	struct times times = { 0 };

	/* Parsing cannot fail: config_load() has checked the texts with the same functions. */
	(void)local_days_parse(config->run.days, &times.days);
	(void)local_time_parse(config->run.at, &times.at);
	(void)local_time_parse(config->run.ends_at, &times.ends_at);
	set_zone(config);
	return times;
}

static bool begins_on(const struct times *times, const struct tm *day)
{
	return times->days >> (day->tm_wday + LOCAL_DAYS_A_WEEK - 1) % LOCAL_DAYS_A_WEEK & 1;
}

/* ---- Nights ---- */

/* Returns the first start after `now` (step 1), or the last start at or before `now` (step -1). */
static int64_t find_start(const struct config *config, int64_t now, int step)
{
	struct times times = open_times(config);

	for (int offset = -step; offset * step <= LOCAL_DAYS_A_WEEK + 1; offset += step) {
		struct tm day;
		unsigned minutes;
		int64_t time;

		day_of(now, offset, &day);
		if (!begins_on(&times, &day))
			continue;
		time = instant(&day, times.at, &minutes);
		if (step > 0 ? time > now : time <= now)
			return time;
	}
	return 0;
}

int64_t night_start(const struct config *config, int64_t now)
{
	return find_start(config, now, -1);
}

int64_t night_next(const struct config *config, int64_t now)
{
	return find_start(config, now, 1);
}

int64_t night_end(const struct config *config, int64_t start)
{
	struct times times = open_times(config);

	for (int offset = -1; times.ends_at != LOCAL_NO_TIME && offset <= 2; offset++) {
		struct tm day;
		unsigned minutes;
		int64_t time;

		day_of(start, offset, &day);
		time = instant(&day, times.ends_at, &minutes);
		if (time > start)
			return time;
	}
	return 0;
}

bool night_is(const struct config *config, int64_t now)
{
	const int64_t start = night_start(config, now), end = night_end(config, start);

	return start > 0 && (!end || now < end);
}

bool night_gap_next(const struct config *config, int64_t from, unsigned days, struct night_gap *ret_gap)
{
	struct times times = open_times(config);

	for (unsigned offset = 0; offset < days; offset++) {
		struct tm day, moved;
		unsigned minutes;
		time_t time;

		day_of(from, (int)offset, &day);
		time = instant(&day, times.at, &minutes);
		if (minutes == times.at || time < from || !begins_on(&times, &day) ||
		    !localtime_r(&time, &moved))
			continue;
		*ret_gap = (struct night_gap){ moved.tm_year + 1900, moved.tm_mon + 1, moved.tm_mday,
					       (unsigned)(moved.tm_hour * 60 + moved.tm_min), offset };
		return true;
	}
	return false;
}

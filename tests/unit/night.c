/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/night.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Parses "2027-03-27 22:00" in UTC. */
static int64_t utc(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%d %H:%M", &tm);

	assert_true(end && !*end);
	return timegm(&tm);
}

static void check_time(const char *label, int64_t found, const char *expected)
{
	time_t time = found;
	struct tm tm;
	char text[32];

	if (found == (*expected ? utc(expected) : 0))
		return;
	gmtime_r(&time, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fail_msg("%s: found %s, expected %s", label, text, expected);
}

/* All instants in UTC. Berlin: UTC+1, summer time from 2027-03-28 02:00 to 2027-10-31 03:00. */
static const struct {
	const char *label, *days, *at, *zone, *ends_at;
	const char *now, *start, *next, *end; /* end: the end of the night that began at start */
	bool night;
} cases[] = {
	{ "on no day", "none", "22:00", "UTC", "", "2027-03-27 12:00", "", "", "", false },
	{ "between two nights", "mon..sun", "22:00", "UTC", "06:00", "2027-03-27 12:00", "2027-03-26 22:00",
	  "2027-03-27 22:00", "2027-03-27 06:00", false },
	{ "at its start", "mon..sun", "22:00", "UTC", "06:00", "2027-03-27 22:00", "2027-03-27 22:00",
	  "2027-03-28 22:00", "2027-03-28 06:00", true },
	{ "at its end", "mon..sun", "22:00", "UTC", "06:00", "2027-03-28 06:00", "2027-03-27 22:00",
	  "2027-03-28 22:00", "2027-03-28 06:00", false },
	{ "without an end", "mon..sun", "22:00", "UTC", "", "2027-03-28 21:59", "2027-03-27 22:00",
	  "2027-03-28 22:00", "", true },
	{ "one day a week", "wed", "22:00", "UTC", "06:00", "2027-03-31 21:59", "2027-03-24 22:00",
	  "2027-03-31 22:00", "2027-03-25 06:00", false },
	{ "working days", "mon..fri", "22:00", "UTC", "06:00", "2027-03-27 23:00", "2027-03-26 22:00",
	  "2027-03-29 22:00", "2027-03-27 06:00", false },
	{ "ends on the same day", "mon..sun", "01:00", "UTC", "05:00", "2027-03-28 02:00", "2027-03-28 01:00",
	  "2027-03-29 01:00", "2027-03-28 05:00", true },
	{ "a zone west of UTC, the day is the local one", "fri", "22:00", "America/New_York", "06:00",
	  "2027-03-27 03:00", "2027-03-27 02:00", "2027-04-03 02:00", "2027-03-27 10:00", true },
	{ "over the spring change", "mon..sun", "22:00", "Europe/Berlin", "06:00", "2027-03-28 00:00",
	  "2027-03-27 21:00", "2027-03-28 20:00", "2027-03-28 04:00", true },
	{ "begins in the gap", "mon..sun", "02:30", "Europe/Berlin", "06:00", "2027-03-28 00:30",
	  "2027-03-27 01:30", "2027-03-28 01:00", "2027-03-27 05:00", false },
	{ "ends in the gap", "mon..sun", "22:00", "Europe/Berlin", "02:30", "2027-03-27 23:00",
	  "2027-03-27 21:00", "2027-03-28 20:00", "2027-03-28 01:00", true },
	{ "begins in the hour that comes twice", "mon..sun", "02:30", "Europe/Berlin", "06:00",
	  "2027-10-31 00:29", "2027-10-30 00:30", "2027-10-31 00:30", "2027-10-30 04:00", false },
	{ "in its second pass", "mon..sun", "02:30", "Europe/Berlin", "06:00", "2027-10-31 01:30",
	  "2027-10-31 00:30", "2027-11-01 01:30", "2027-10-31 05:00", true },
	{ "a gap at midnight", "mon..sun", "00:00", "America/Asuncion", "", "2023-10-01 03:30",
	  "2023-09-30 04:00", "2023-10-01 04:00", "", true },
};

static struct config config_of(size_t i)
{
	struct config config = { 0 };

	config.run.days = cases[i].days;
	config.run.at = cases[i].at;
	config.run.zone = cases[i].zone;
	config.run.ends_at = cases[i].ends_at;
	return config;
}

static void test_nights(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config = config_of(i);
		int64_t now = utc(cases[i].now), start = night_start(&config, now);

		check_time(cases[i].label, start, cases[i].start);
		check_time(cases[i].label, night_next(&config, now), cases[i].next);
		check_time(cases[i].label, night_end(&config, start), cases[i].end);
		if (night_is(&config, now) != cases[i].night)
			fail_msg("%s: now is %sa night", cases[i].label, cases[i].night ? "no " : "");
	}
}

static void test_gaps(void **state)
{
	struct config config = { 0 };
	struct night_gap gap;
	int64_t from = utc("2026-12-01 00:00");

	(void)state;
	config.run.days = "mon..sun";
	config.run.at = "02:30";
	config.run.zone = "Europe/Berlin";
	config.run.ends_at = "";
	assert_true(night_gap_next(&config, from, 366, &gap));
	assert_int_equal(gap.year * 10000 + gap.month * 100 + gap.day, 20270328);
	assert_int_equal(gap.minutes, 180);
	assert_false(night_gap_next(&config, from, 100, &gap));
	config.run.days = "mon..sat"; /* summer time begins on a Sunday */
	assert_false(night_gap_next(&config, from, 366, &gap));
	config.run.days = "sun";
	config.run.at = "03:00";
	assert_false(night_gap_next(&config, from, 366, &gap));
	config.run.at = "02:30";
	config.run.zone = "UTC";
	assert_false(night_gap_next(&config, from, 366, &gap));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nights),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

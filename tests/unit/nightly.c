/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the timer's run is due. */
#include "oneshot/night/due.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define LONG_UP (30 * 86400)

/* Converts "2027-03-27 22:00", in UTC; "" gives -1. */
static int64_t utc(const char *text)
{
	struct tm tm = { 0 };

	if (!*text)
		return -1;
	assert_non_null(strptime(text, "%Y-%m-%d %H:%M", &tm));
	return timegm(&tm);
}

/* All cases have run.at = "22:00" in UTC, every day. */
static const struct {
	const char *label, *ends_at, *now, *written;
	int64_t uptime_s;
	bool catch_up;
	enum due due;
	int64_t late_s;
} cases[] = {
	{ "on time", "06:00", "2027-03-27 22:00", "2027-03-01 12:00", LONG_UP, false, DUE_NOW, 0 },
	{ "a quarter of an hour late", "06:00", "2027-03-27 22:15", "2027-03-01 12:00", LONG_UP, false,
	  DUE_NOW, 900 },
	{ "later than that", "06:00", "2027-03-27 22:16", "2027-03-01 12:00", LONG_UP, false, DUE_MISSED,
	  960 },
	{ "later, and it catches up", "06:00", "2027-03-27 22:16", "2027-03-01 12:00", LONG_UP, true, DUE_NOW,
	  960 },
	{ "the box was off at the start", "06:00", "2027-03-27 22:05", "2027-03-01 12:00", 120, false,
	  DUE_MISSED, 300 },
	{ "off at the start, and it catches up", "06:00", "2027-03-27 22:05", "2027-03-01 12:00", 120, true,
	  DUE_NOW, 300 },
	{ "in the minute of the boot", "06:00", "2027-03-27 22:01", "2027-03-01 12:00", 60, false, DUE_NOW,
	  60 },
	{ "the night is over", "06:00", "2027-03-28 06:00", "2027-03-01 12:00", LONG_UP, false, DUE_OVER,
	  8 * 3600 },
	{ "over, and nothing is caught up by day", "06:00", "2027-03-28 12:00", "2027-03-01 12:00", LONG_UP,
	  true, DUE_OVER, 14 * 3600 },
	{ "no end: until the next start", "", "2027-03-28 21:00", "2027-03-01 12:00", LONG_UP, true, DUE_NOW,
	  23 * 3600 },
	{ "the configuration is younger than the start", "06:00", "2027-03-27 22:05", "2027-03-27 22:02",
	  LONG_UP, true, DUE_BEFORE, 300 },
	{ "written in the minute of the start", "06:00", "2027-03-27 22:05", "2027-03-27 22:00", LONG_UP,
	  false, DUE_NOW, 300 },
	{ "a minute later", "06:00", "2027-03-27 22:05", "2027-03-27 22:01", LONG_UP, false, DUE_BEFORE,
	  300 },
	{ "written in the future: the clock was wrong", "06:00", "2027-03-27 22:05", "2028-01-01 00:00",
	  LONG_UP, false, DUE_NOW, 300 },
	{ "nobody knows when it was written", "06:00", "2027-03-27 22:05", "", LONG_UP, false, DUE_NOW, 300 },
	{ "younger than a night that is over", "06:00", "2027-03-28 12:00", "2027-03-28 11:00", LONG_UP, true,
	  DUE_BEFORE, 14 * 3600 },
};

static void test_due(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config = { .run.days = "mon..sun",
					 .run.at = "22:00",
					 .run.zone = "UTC",
					 .run.ends_at = cases[i].ends_at,
					 .run.catch_up = cases[i].catch_up };
		const struct due_facts facts = { utc(cases[i].now), cases[i].uptime_s,
						 utc(cases[i].written) };
		int64_t late_s = -1;
		enum due due = due_decide(&config, &facts, &late_s);

		if (due != cases[i].due || late_s != cases[i].late_s)
			fail_msg("%s: found %d, %jd s late, expected %d, %jd s", cases[i].label, (int)due,
				 (intmax_t)late_s, (int)cases[i].due, (intmax_t)cases[i].late_s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_due) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

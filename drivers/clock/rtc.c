/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/clock/rtc.h"

#include "core/base/paths.h"

#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define FILE_BYTES_MAX 65536u /* more than a page: sysfs reports the size of a page for every file */

static bool time_of(const char *path, int64_t *ret_s)
{
	CLEANUP(free_ptr) char *text = NULL;
	char *end;

	if (file_read(path, FILE_BYTES_MAX, &text, NULL, NULL) < 0)
		return false;
	*ret_s = strtoll(text, &end, 10);
	if (end == text)
		return false;
	return true;
}

static void day_of(int64_t when, char out[static 16])
{
	time_t at = when;
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(out, 16, "%Y-%m-%d", &tm))
		(void)snprintf(out, 16, "no date");
}

int rtc_check(struct error *err)
{
	int r = error_set(err, -ENODEV, "this box has no clock that runs while it is off (RTC)");
	char pattern[PATH_BYTES], day[16];
	const int64_t now = time(NULL);
	glob_t found = { 0 };
	int64_t theirs;

	if (glob(path_of(PATH_RTC, "rtc*/since_epoch", pattern), 0, NULL, &found) == 0)
		for (size_t i = 0; r < 0 && i < found.gl_pathc; i++) {
			if (!time_of(found.gl_pathv[i], &theirs))
				continue;
			day_of(theirs, day);
			r = theirs > now - RTC_OFF_MAX_S && theirs < now + RTC_OFF_MAX_S
				    ? 0
				    : error_set(err, -ERANGE,
						"this box's hardware clock (RTC) did not keep the time: it "
						"says %s",
						day);
		}
	globfree(&found);
	return r;
}

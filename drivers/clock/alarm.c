/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/clock/alarm.h"

#include "core/base/paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define FILE_BYTES_MAX 65536u /* more than a page: sysfs reports the size of a page for every file */
#define COARSE_S       60     /* tolerance: the alarm of some clocks has whole minutes only */

struct clock_name {
	char text[64]; /* "rtc0" */
};

static char *path_in(const struct clock_name *clock, const char *file, char out[static PATH_BYTES])
{
	char tail[128];

	(void)snprintf(tail, sizeof(tail), "%s/%s", clock->text, file);
	return path_of(PATH_RTC, tail, out);
}

static int read_number(const char *path, int64_t *ret_number, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char *end;
	int r = file_read(path, FILE_BYTES_MAX, &text, NULL, err);

	if (r < 0)
		return r;
	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	if (end == text || errno)
		return error_set(err, -EIO, "%s: found \"%.40s\", expected a number of seconds", path, text);
	return 0;
}

/* Writes the number by a single write(2): sysfs treats the bytes of each write as a complete value. */
static int write_number(const char *path, int64_t number, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	char text[32];
	int r;

	(void)snprintf(text, sizeof(text), "%" PRId64 "\n", number);
	r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));
	return r < 0 ? error_set(err, -EIO, "%s: cannot set it to %" PRId64 ": %s", path, number,
				 strerror(-r))
		     : 0;
}

static int is_clock(const struct dirent *entry)
{
	return strncmp(entry->d_name, "rtc", 3) == 0;
}

/* Finds the first clock with an alarm. */
static int find(struct clock_name *ret_clock, struct error *err)
{
	struct dirent **entries = NULL;
	struct clock_name clock;
	char folder[PATH_BYTES], path[PATH_BYTES];
	int count = scandir(path_of(PATH_RTC, NULL, folder), &entries, is_clock, versionsort), found = -1;

	for (int i = 0; i < count; i++) {
		(void)snprintf(clock.text, sizeof(clock.text), "%.63s", entries[i]->d_name);
		if (found < 0 && access(path_in(&clock, "wakealarm", path), F_OK) == 0) {
			*ret_clock = clock;
			found = i;
		}
		free(entries[i]);
	}
	free(entries);
	return found < 0 ? error_set(err, -ENODEV, "%s: no hardware clock with an alarm that wakes the box",
				     folder)
			 : 0;
}

/* Checks that waking the box by this clock is not switched off (device/power/wakeup). A missing file is no
 * error. */
static int check_wakes(const struct clock_name *clock, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];

	if (file_read(path_in(clock, "device/power/wakeup", path), FILE_BYTES_MAX, &text, NULL, NULL) < 0 ||
	    strncmp(text, "disabled", strlen("disabled")) != 0)
		return 0;
	return error_set(err, -ENODEV, "%s: found \"disabled\": its alarm does not wake the box", path);
}

int alarm_check(struct error *err)
{
	struct clock_name clock;
	int r = find(&clock, err);

	return r < 0 ? r : check_wakes(&clock, err);
}

int alarm_set(int64_t wake_s, struct error *err)
{
	const int64_t ahead_s = wake_s - time(NULL);
	int64_t clock_s, found_s;
	struct clock_name clock;
	char path[PATH_BYTES];
	int r = find(&clock, err);

	if (r < 0 || (r = check_wakes(&clock, err)) < 0 ||
	    (r = read_number(path_in(&clock, "since_epoch", path), &clock_s, err)) < 0)
		return r;
	(void)path_in(&clock, "wakealarm", path);
	if (ahead_s <= 0)
		return error_set(err, -ERANGE, "%s: the wanted time was %" PRId64 " s ago", path, -ahead_s);
	/* The kernel refuses a new alarm while one is set: clear it first. */
	if ((r = write_number(path, 0, err)) < 0 || (r = write_number(path, clock_s + ahead_s, err)) < 0 ||
	    (r = read_number(path, &found_s, err)) < 0)
		return r;
	if (found_s < clock_s + ahead_s - COARSE_S || found_s > clock_s + ahead_s + COARSE_S)
		return error_set(err, -EIO, "%s: set to %" PRId64 ", found %" PRId64, path, clock_s + ahead_s,
				 found_s);
	return 0;
}

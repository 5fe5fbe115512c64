/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/clock/alarm.h"

#include "core/base/paths.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#define HOUR_S 3600

static char root[] = "/tmp/kiln-alarm-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[PATH_BYTES], folder[PATH_BYTES];
	struct error err;

	(void)path_of(PATH_RTC, name, path);
	(void)snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(path_make(folder, &err), 0);
	assert_int_equal(file_write_durable(path, text, strlen(text), &err), 0);
}

static int64_t alarm_of(const char *clock)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES], name[64];

	(void)snprintf(name, sizeof(name), "%s/wakealarm", clock);
	assert_int_equal(file_read(path_of(PATH_RTC, name, path), 64, &text, NULL, NULL), 0);
	return strtoll(text, NULL, 10);
}

static int empty_root(void **state)
{
	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX"); // NOLINT(*-strcpy): of its own length
	assert_non_null(mkdtemp(root));
	return setenv("KILN_ROOT", root, 1);
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command); // NOLINT(cert-env33-c): the name is ours
}

static void fails(int64_t wake_s, int code, const char *words)
{
	struct error err = { 0 };

	assert_int_equal(alarm_set(wake_s, &err), code);
	if (!strstr(err.text, words))
		fail_msg("found \"%s\", expected \"%s\"", err.text, words);
}

static void test_no_clock(void **state)
{
	(void)state;
	fails(time(NULL) + HOUR_S, -ENODEV, "/sys/class/rtc: no hardware clock with an alarm");
	put("rtc0/since_epoch", "0\n");
	fails(time(NULL) + HOUR_S, -ENODEV, "no hardware clock with an alarm");
}

/* A hardware clock that keeps local time, or a wrong time, gets its alarm in its own time. */
static void test_own_time(void **state)
{
	struct error err;
	int64_t found;

	(void)state;
	put("rtc0/since_epoch", "5\n");
	put("rtc1/since_epoch", "1000000\n");
	put("rtc1/wakealarm", "77\n");
	assert_int_equal(alarm_set(time(NULL) + HOUR_S, &err), 0);
	found = alarm_of("rtc1");
	/* The second may change between the two reads. */
	assert_in_range(found, 1000000 + HOUR_S - 1, 1000000 + HOUR_S);
}

static void test_refused(void **state)
{
	(void)state;
	put("rtc0/since_epoch", "1000000\n");
	put("rtc0/wakealarm", "");
	put("rtc0/device/power/wakeup", "disabled\n");
	fails(time(NULL) + HOUR_S, -ENODEV, "rtc0/device/power/wakeup: found \"disabled\"");
	put("rtc0/device/power/wakeup", "enabled\n");
	fails(time(NULL) - HOUR_S, -ERANGE, "wakealarm: the wanted time was 3600 s ago");
	put("rtc0/since_epoch", "soon\n");
	fails(time(NULL) + HOUR_S, -EIO, "rtc0/since_epoch: found \"soon");
}

/* A clock that ignores alarms: a written alarm does not stay. */
static void test_not_taken(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	put("rtc0/since_epoch", "1000000\n");
	assert_int_equal(symlink("/dev/full", path_of(PATH_RTC, "rtc0/wakealarm", path)), 0);
	fails(time(NULL) + HOUR_S, -EIO, "wakealarm: cannot set it to 0");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	fails(time(NULL) + HOUR_S, -EINVAL, "wakealarm: not a regular file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_clock, empty_root, remove_root),
		cmocka_unit_test_setup_teardown(test_own_time, empty_root, remove_root),
		cmocka_unit_test_setup_teardown(test_refused, empty_root, remove_root),
		cmocka_unit_test_setup_teardown(test_not_taken, empty_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons why a box stays on after a night, as far as they can be tested without systemd. */
#include "oneshot/night/power.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW 1800000000

static void put(enum path where, const void *data, uint64_t bytes)
{
	char path[PATH_BYTES], folder[PATH_BYTES];
	struct error err;

	(void)snprintf(folder, sizeof(folder), "%s", path_of(where, NULL, path));
	*strrchr(folder, '/') = '\0';
	assert_int_equal(path_make(folder, &err), 0);
	assert_int_equal(file_write_durable(path, data, bytes, &err), 0);
}

static void log_in(short type, pid_t pid)
{
	const struct utmp entry = { .ut_type = type, .ut_pid = pid, .ut_user = "ada" };

	put(PATH_UTMP, &entry, sizeof(entry));
}

/* A process that has ended, and its number. */
static pid_t dead_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void check_held(const struct config *config, int64_t wake_s, const char *words)
{
	struct error why = { 0 };
	int r = check_box(config, NOW, wake_s, &why);

	if (*words ? r == 0 || !strstr(why.text, words) : r != 0)
		fail_msg("found %d, %s; expected \"%s\"", r, why.text, words);
}

static void test_somebody(void **state)
{
	const struct config config = { .power.when_finished = POWER_OFF, .power.wake_by = WAKE_BY_OTHER };

	(void)state;
	check_held(&config, NOW + 3600, "");
	log_in(USER_PROCESS, getpid());
	check_held(&config, NOW + 3600, "ada is logged in");
	log_in(DEAD_PROCESS, getpid());
	check_held(&config, NOW + 3600, "");
	log_in(USER_PROCESS, dead_process());
	check_held(&config, NOW + 3600, "");
}

static void test_next_night(void **state)
{
	const struct config config = { .power.when_finished = POWER_OFF, .power.wake_by = WAKE_BY_OTHER };

	(void)state;
	check_held(&config, NOW + DOWN_S, "");
	check_held(&config, NOW + DOWN_S - 1, "the box would wake in 299 s for the next night");
	check_held(&config, NOW - 60, "the next night begins within power.wake_early_min");
}

/* This node has no hardware clock, so it may only be switched off if something else switches it on again. */
static void test_alarm(void **state)
{
	const struct config off = { .power.when_finished = POWER_OFF, .power.wake_by = WAKE_BY_ALARM },
			    asleep = { .power.when_finished = POWER_SUSPEND, .power.wake_by = WAKE_BY_OTHER };

	(void)state;
	check_held(&off, NOW + 3600, "clock");
	check_held(&asleep, NOW + 3600, "clock");
}

static void test_update(void **state)
{
	struct update update = { .state = UPDATE_FETCHING, .url = "s3://b/k" };
	char path[PATH_BYTES], folder[PATH_BYTES];
	struct error err;

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s", path_of(PATH_UPDATE_NOTE, NULL, path));
	*strrchr(folder, '/') = '\0';
	assert_int_equal(path_make(folder, &err), 0);
	assert_false(waits_for_its_restart());
	assert_int_equal(update_save(&update, &err), 0);
	assert_false(waits_for_its_restart());
	update.state = UPDATE_INSTALLED;
	assert_int_equal(update_save(&update, &err), 0);
	assert_true(waits_for_its_restart());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_somebody, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_next_night, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_alarm, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_update, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

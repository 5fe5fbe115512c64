/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/status.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct error err;

static int page_file(int flags)
{
	char path[PATH_BYTES];

	return open(path_of(PATH_STATUS, "traind/page", path), flags | O_CLOEXEC);
}

static void say(struct status_page *page, uint64_t step)
{
	struct status status = { .phase = "training",
				 .traind = { .step = step, .loss = 1.0 / (double)(step + 1) } };

	status_write(page, &status);
}

static uint64_t step_read(void)
{
	struct status status;

	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), 0);
	assert_true(status.traind.loss == 1.0 / (double)(status.traind.step + 1));
	return status.traind.step;
}

static void test_what_is_written_is_read(void **state)
{
	CLEANUP(status_closep) struct status_page *page = NULL;
	struct status status;

	(void)state;
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), -ENOENT);
	assert_int_equal(status_open(STATUS_TRAIND, &page, &err), 0);
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), -EBADMSG);
	for (uint64_t step = 0; step < 5; step++) {
		say(page, step);
		assert_int_equal(step_read(), step);
	}
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), 0);
	assert_int_equal(status.pid, getpid());
	assert_string_equal(status.phase, "training");
	assert_true(status.started_us > 0 && status.updated_us >= status.started_us);
	assert_int_equal(status_read(STATUS_FETCHD, &status, &err), -ENOENT);
}

/* `degraded` holds through all writes until it is set to "". */
static void test_degraded_stays(void **state)
{
	CLEANUP(status_closep) struct status_page *page = NULL, *later = NULL;
	char longest[400];
	struct status status;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	status_set_degraded("failed 6 times");
	assert_int_equal(status_open(STATUS_TRAIND, &page, &err), 0);
	for (uint64_t step = 0; step < 3; step++) {
		say(page, step);
		assert_int_equal(status_read(STATUS_TRAIND, &status, &err), 0);
		assert_string_equal(status.degraded, "failed 6 times");
		assert_string_equal(status.phase, "training");
	}
	status_closep(&page);
	status_set_degraded(longest);
	assert_int_equal(status_open(STATUS_TRAIND, &later, &err), 0);
	say(later, 4);
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), 0);
	assert_int_equal(strlen(status.degraded), sizeof(status.degraded) - 1);
	status_set_degraded("");
	say(later, 5);
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), 0);
	assert_string_equal(status.degraded, "");
}

static void test_the_next_writer_goes_on(void **state)
{
	CLEANUP(status_closep) struct status_page *page = NULL;

	(void)state;
	assert_int_equal(status_open(STATUS_TRAIND, &page, &err), 0);
	say(page, 7);
	assert_int_equal(step_read(), 7);
	say(page, 8);
	assert_int_equal(step_read(), 8);
}

/* After a write that was cut anywhere, the copy of the write before is read. */
static void test_a_torn_copy_leaves_the_other(void **state)
{
	CLEANUP(status_closep) struct status_page *page = NULL;
	CLEANUP(close_fd) int fd = -1;
	char before[8192] = { 0 }, after[8192] = { 0 };
	ssize_t bytes;

	(void)state;
	assert_int_equal(status_open(STATUS_TRAIND, &page, &err), 0);
	say(page, 20);
	say(page, 21);
	fd = page_file(O_RDWR);
	bytes = pread(fd, before, sizeof(before), 0);
	say(page, 22);
	assert_int_equal(pread(fd, after, sizeof(after), 0), bytes);
	for (ssize_t cut = 0; cut <= bytes; cut++) {
		assert_int_equal(pwrite(fd, after, (size_t)cut, 0), cut);
		assert_int_equal(pwrite(fd, before + cut, (size_t)(bytes - cut), cut), bytes - cut);
		assert_true(step_read() >= 21);
	}
	assert_int_equal(step_read(), 22);
}

static void test_another_version_is_refused(void **state)
{
	CLEANUP(close_fd) int fd = -1;
	struct status status;

	(void)state;
	fd = page_file(O_RDWR);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), -EBADMSG);
	assert_int_equal(pwrite(fd, "no page at all", 14, 5000), 14);
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), -EBADMSG);
}

static void write_until_killed(void)
{
	struct status_page *page;

	if (status_open(STATUS_TRAIND, &page, &err) < 0)
		_exit(1);
	for (uint64_t step = 1;; step++)
		say(page, step);
}

static void test_a_reader_never_sees_half(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		pid_t pid = fork();
		struct status status;
		int status_of;

		if (pid == 0)
			write_until_killed();
		while (status_read(STATUS_TRAIND, &status, &err) < 0)
			continue;
		for (int i = 0; i < 500; i++) {
			/* Two writes may happen between the two reads of a slow reader. */
			int r = status_read(STATUS_TRAIND, &status, &err);

			assert_true(r == -EBADMSG ||
				    (r == 0 && status.traind.loss == 1.0 / (double)(status.traind.step + 1)));
		}
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status_of, 0), pid);
		(void)step_read(); /* a whole copy was read */
	}
}

static void test_paths(void **state)
{
	const size_t length = strlen(getenv("KILN_ROOT"));
	char path[PATH_BYTES];

	(void)state;
	assert_string_equal(status_path(STATUS_TRAIND, "ended", path) + length,
			    "/run/kiln/status/traind/ended");
	(void)slot_use(2);
	(void)slot_use_rank(3);
	assert_string_equal(status_path(STATUS_FETCHD, NULL, path) + length,
			    "/run/kiln/status/slot-2/fetchd/rank-3");
	assert_string_equal(status_path(STATUS_FETCHD, "page", path) + length,
			    "/run/kiln/status/slot-2/fetchd/rank-3/page");
	(void)slot_use_rank(0);
	(void)slot_use(0);
	assert_string_equal(status_path(STATUS_UPLOADD, NULL, path) + length, "/run/kiln/status/uploadd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_degraded_stays),
		cmocka_unit_test(test_the_next_writer_goes_on),
		cmocka_unit_test(test_a_torn_copy_leaves_the_other),
		cmocka_unit_test(test_another_version_is_refused),
		cmocka_unit_test(test_a_reader_never_sees_half),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

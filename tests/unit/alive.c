/* SPDX-License-Identifier: Apache-2.0 */
/* Includes back_off.c for its statics: nothing restarts this process. */
#include "drivers/notify/back_off.c" // NOLINT(bugprone-suspicious-include)

#include "core/base/clock.h"
#include "drivers/notify/notify.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>

#include <cmocka.h>

#define S ((uint64_t)1000000)

/* Returns the message that systemd would get; "" = none within a second. */
static int notify_fd;

static void open_socket(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval second = { .tv_sec = 1 };

	(void)state;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", root);
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(notify_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setsockopt(notify_fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)), 0);
	(void)setenv("NOTIFY_SOCKET", address.sun_path, 1);
	(void)setenv("WATCHDOG_USEC", "200000", 1);
}

static const char *heard(void)
{
	static char text[512];
	ssize_t n = recv(notify_fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_back_off(void **state)
{
	static const unsigned expected[] = { 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 };

	(void)state;
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(alive_back_off_s(i), expected[i]);
	assert_int_equal(alive_back_off_s(UINT32_MAX), 300);
}

static void test_reason(void **state)
{
	struct error err = { 0 };
	char path[PATH_BYTES], text[100];

	(void)state;
	assert_int_equal(path_make(path_of(PATH_RUNS, NULL, path), &err), 0);
	(void)error_set(&err, -ENODEV, "the device is lost");
	assert_int_equal(alive_fatal(STATUS_TRAIND, &err), EX_UNAVAILABLE);
	assert_true(alive_last_words(STATUS_TRAIND, text, sizeof(text)));
	assert_string_equal(text, "the device is lost");
	assert_false(alive_last_words(STATUS_FETCHD, text, sizeof(text)));
	/* Not under systemd: no pause, and the reason is forgotten. */
	alive_back_off(STATUS_TRAIND);
	assert_false(alive_last_words(STATUS_TRAIND, text, sizeof(text)));
}

/* Seconds of a process's life, and whether it made progress since the process before. */
static void test_progress(void **state)
{
	(void)state;
	/* A process that waits makes no progress, however long it runs. */
	for (uint64_t s = 0; s < 3600; s += 5)
		assert_false(alive_recovered(s * S));
	/* Two signs of progress an hour apart are no five minutes of progress. */
	alive_progress();
	assert_false(alive_recovered(3600 * S));
	alive_progress();
	assert_false(alive_recovered(7200 * S));
	for (uint64_t s = 7201; s < 9000; s++)
		assert_false(alive_recovered(s * S));
	/* From here on the process makes progress; the two signs above count for a minute each. */
	for (uint64_t s = 9000; s < 9000 + 180; s++) {
		alive_progress();
		assert_false(alive_recovered(s * S));
	}
	alive_progress();
	assert_true(alive_recovered((9000 + 180) * S));
}

static void test_degraded(void **state)
{
	static const struct {
		uint32_t failures;
		const char *phase, *text, *degraded;
	} cases[] = {
		{ 1, "waiting", "failed 1 times, trying again in 1 s: it is lost", "" },
		{ 4, "waiting", "failed 4 times, trying again in 8 s: it is lost", "" },
		{ 5, "degraded", "failed 5 times, trying again in 16 s: it is lost",
		  "failed 5 times, the last time: it is lost" },
		{ 20, "degraded", "failed 20 times, trying again in 300 s: it is lost",
		  "failed 20 times, the last time: it is lost" },
	};
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(status_closep) struct status_page *page = NULL;
		struct status status = { 0 }, said = { .phase = "training" };

		explain(cases[i].failures, "it is lost", &status);
		assert_string_equal(status.phase, cases[i].phase);
		assert_string_equal(status.text, cases[i].text);
		/* The process runs again, and reports its work. */
		assert_int_equal(status_open(STATUS_TRAIND, &page, &err), 0);
		status_write(page, &said);
		assert_int_equal(status_read(STATUS_TRAIND, &said, &err), 0);
		assert_string_equal(said.phase, "training");
		assert_string_equal(said.degraded, cases[i].degraded);
	}
}

/* A page for the current run shows in its status; a page without a run would not. */
static void test_the_page_is_the_runs(void **state)
{
	static const char config[] = "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n";
	CLEANUP(run_done) struct run run = { 0 };
	struct status status = { 0 };
	char path[PATH_BYTES];
	struct error err = { 0 };
	bool adopted;

	(void)state;
	explain(1, "it is lost", &status);
	assert_string_equal(status.run_id, "");
	(void)snprintf(path, sizeof(path), "%s/kiln.conf", root);
	assert_int_equal(file_write_durable(path, config, strlen(config), &err), 0);
	assert_int_equal(run_begin(path, "", NULL, &run, &adopted, &err), 0);
	explain(1, "it is lost", &status);
	assert_string_equal(status.run_id, run.id);
}

static void test_forgiven(void **state)
{
	CLEANUP(status_closep) struct status_page *page = NULL;
	struct status status = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(status_open(STATUS_TRAIND, &page, &err), 0);
	assert_int_equal(forgiven(STATUS_TRAIND), 0);
	our_daemon = STATUS_TRAIND;
	our_restarts = 7;
	explain(7, "it is lost", &status);
	back_off_forget();
	assert_int_equal(forgiven(STATUS_TRAIND), 7);
	status_write(page, &status);
	assert_int_equal(status_read(STATUS_TRAIND, &status, &err), 0);
	assert_string_equal(status.degraded, "");
	our_daemon = STATUS_DAEMONS;
}

static void test_extend(void **state)
{
	open_socket(state);
	notify_extend(7);
	assert_string_equal(heard(), "EXTEND_TIMEOUT_USEC=7000000");
	(void)usleep(1100 * 1000);
	notify_extend(8);
	notify_extend(9);
	assert_string_equal(heard(), "EXTEND_TIMEOUT_USEC=8000000");
	assert_string_equal(heard(), ""); /* no second message within a second */
}

/* The tests run in this order in one process. */
static void test_workers(void **state)
{
	struct alive_worker *a = alive_worker("a"), *b;
	uint64_t now = clock_us();

	(void)state;
	assert_null(alive_stuck(now, 10 * S));
	assert_null(alive_stuck(now + 9 * S, 10 * S));
	assert_string_equal(alive_stuck(now + 12 * S, 10 * S), "a");
	alive_tick(a);
	assert_null(alive_stuck(now + 12 * S, 10 * S));
	assert_null(alive_stuck(now + 21 * S, 10 * S));
	assert_string_equal(alive_stuck(now + 23 * S, 10 * S), "a");

	/* Each worker counts by itself. */
	b = alive_worker("b");
	alive_tick(a);
	assert_null(alive_stuck(now + 3 * S, 10 * S));
	alive_tick(a);
	assert_string_equal(alive_stuck(now + 14 * S, 10 * S), "b");

	/* A lease that runs out. */
	alive_lease(b, "building kernels", 60);
	assert_null(alive_stuck(now + 14 * S, 10 * S));
	alive_tick(a);
	assert_null(alive_stuck(now + 59 * S, 10 * S));
	alive_tick(a);
	assert_string_equal(alive_stuck(now + 62 * S, 10 * S), "b");
	alive_lease_end(b);
	alive_tick(a);
	assert_null(alive_stuck(now + 62 * S, 10 * S));
	alive_tick(NULL);
	alive_lease(NULL, "nothing", 1);
	alive_lease_end(NULL);
	for (unsigned i = 2; i < ALIVE_WORKERS_MAX; i++)
		alive_tick(alive_worker("more"));
	assert_null(alive_worker("one too many"));
}

static void test_pings(void **state)
{
	(void)state;
	open_socket(NULL);
	alive_open();
	assert_string_equal(heard(), "WATCHDOG=1");
	/* No worker of this process makes progress any more. */
	while (*heard())
		;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_back_off),
		TEST(test_reason),
		TEST(test_progress),
		TEST(test_degraded),
		TEST(test_the_page_is_the_runs),
		TEST(test_forgiven),
		TEST(test_workers),
		TEST(test_extend),
		TEST(test_pings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

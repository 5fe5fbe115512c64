/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/notify/alive.h"
#include "core/clock.h"
#include "core/paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>

#include <cmocka.h>

#define S ((uint64_t)1000000)

static char folder[] = "/tmp/kiln-alive-XXXXXX";

/* What systemd would get; "" = nothing within a second. */
static int notify_fd;

static void open_socket(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval second = { .tv_sec = 1 };

	(void)state;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", folder);
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
	char path[PATH_BYTES];
	CLEANUP(free_ptr) char *text = NULL;

	(void)state;
	assert_int_equal(path_make(path_of(PATH_STATUS, "traind", path), &err), 0);
	(void)error_set(&err, -ENODEV, "the device is lost");
	assert_int_equal(alive_fatal(STATUS_TRAIND, &err), EX_UNAVAILABLE);
	assert_int_equal(file_read(path_of(PATH_STATUS, "traind/reason", path), 100, &text, NULL, &err), 0);
	assert_string_equal(text, "the device is lost");
	/* Not under systemd: no pause, and the reason is spent. */
	alive_back_off(STATUS_TRAIND);
	assert_int_equal(access(path, F_OK), -1);
}

/* The order of these is that of a process. */
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

	/* Each counts by itself. */
	b = alive_worker("b");
	alive_tick(a);
	assert_null(alive_stuck(now + 3 * S, 10 * S));
	alive_tick(a);
	assert_string_equal(alive_stuck(now + 14 * S, 10 * S), "b");

	/* A lease, until it runs out. */
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
	/* No worker of this process moves any more. */
	while (*heard())
		;
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && setenv("KILN_ROOT", folder, 1) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/notify", folder);
	(void)unlink(path);
	(void)path_of(PATH_STATUS, "traind", path);
	while (rmdir(path) == 0 && strcmp(path, folder) != 0)
		*strrchr(path, '/') = '\0';
	return access(folder, F_OK) == 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back_off),
		cmocka_unit_test(test_reason),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_pings),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}

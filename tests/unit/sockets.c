/* SPDX-License-Identifier: Apache-2.0 */
/* drivers/http/sockets.h: what becomes of sockets that epoll knows otherwise than libcurl does. What libcurl
 * does with them is tested with servers (tests/system/http_faults.sh, faults.sh). */
#include "drivers/http/sockets.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct sockets sockets;
static int pair[2];

static int begin(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(sockets_open(&sockets, curl_multi_init(), &err), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	(void)curl_multi_cleanup(sockets.multi);
	sockets_close(&sockets);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}

static int watched(void)
{
	struct epoll_event event;
	int ready;

	assert_int_equal(write(pair[1], "x", 1), 1);
	ready = epoll_wait(sockets.epoll, &event, 1, 0);
	return ready == 1 && event.data.fd == pair[0];
}

static void a_socket_that_is_watched_may_come_as_a_new_one(void **state)
{
	(void)state;
	assert_int_equal(on_socket(NULL, pair[0], CURL_POLL_OUT, &sockets, NULL), 0);
	assert_int_equal(on_socket(NULL, pair[0], CURL_POLL_IN, &sockets, NULL), 0);
	assert_true(watched());
}

static void a_socket_that_is_not_watched_may_come_as_a_known_one(void **state)
{
	(void)state;
	assert_int_equal(on_socket(NULL, pair[0], CURL_POLL_IN, &sockets, &sockets), 0);
	assert_true(watched());
	assert_int_equal(on_socket(NULL, pair[0], CURL_POLL_REMOVE, &sockets, &sockets), 0);
	assert_false(watched());
}

static void a_socket_that_cannot_be_watched_is_an_error_with_its_cause(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(on_socket(NULL, -1, CURL_POLL_IN, &sockets, NULL), -1);
	assert_int_equal(result_of(&sockets, CURLM_ABORTED_BY_CALLBACK, &err), -EIO);
	assert_string_equal(err.text, "cannot watch a socket: Bad file descriptor");
}

static void a_wake_ends_the_wait(void **state)
{
	struct error err = { 0 };

	(void)state;
	sockets_wake(&sockets);
	assert_int_equal(sockets_run(&sockets, 60000, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_socket_that_is_watched_may_come_as_a_new_one, begin, end),
		cmocka_unit_test_setup_teardown(a_socket_that_is_not_watched_may_come_as_a_known_one, begin,
						end),
		cmocka_unit_test_setup_teardown(a_socket_that_cannot_be_watched_is_an_error_with_its_cause,
						begin, end),
		cmocka_unit_test_setup_teardown(a_wake_ends_the_wait, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

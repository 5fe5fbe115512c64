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

/* ---- Acknowledgements ---- */

#define EXCHANGES 20

static void tcp_pair(int *ret_client, int *ret_server)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t bytes = sizeof(address);

	*ret_client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	assert_int_equal(connect(*ret_client, (struct sockaddr *)&address, bytes), 0);
	*ret_server = accept(listener, NULL, NULL);
	assert_true(*ret_server >= 0);
	(void)close(listener);
}

static void pass(int from, int to)
{
	char byte = 'x';

	assert_int_equal(send(from, &byte, 1, 0), 1);
	assert_int_equal(recv(to, &byte, 1, 0), 1);
}

static bool is_acknowledged(int socket)
{
	struct tcp_info info;
	socklen_t bytes = sizeof(info);

	assert_int_equal(getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
	return info.tcpi_unacked == 0;
}

static void what_a_socket_has_received_is_acknowledged_at_once(void **state)
{
	int client, server, late = 0;

	(void)state;
	tcp_pair(&client, &server);
	for (int i = 0; i < EXCHANGES; i++) {
		pass(client, server);
		pass(server, client);
		late += !is_acknowledged(server);
		acknowledge(client);
		assert_true(is_acknowledged(server));
	}
	assert_true(late > 0); /* the kernel waits where it is not asked */
	(void)close(client);
	(void)close(server);
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
		cmocka_unit_test_setup_teardown(what_a_socket_has_received_is_acknowledged_at_once, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

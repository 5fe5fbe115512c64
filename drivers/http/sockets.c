/* SPDX-License-Identifier: Apache-2.0 */
#define CURL_DISABLE_DEPRECATION /* curl_multi_socket_all(), see sockets_look() */
#include "drivers/http/sockets.h"

#include "core/base/cleanup.h"
#include "core/base/clock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define EVENTS_MAX 64
#define NEVER      UINT64_MAX

/* ---- What libcurl calls ---- */

static uint32_t events_of(int what)
{
	return (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
}

/* epoll may know a socket that libcurl takes for a new one, or not know one that libcurl has opened again.
 */
static int watch(const struct sockets *sockets, curl_socket_t socket, bool known, struct epoll_event *event)
{
	if (epoll_ctl(sockets->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, event) == 0)
		return 0;
	if (errno != (known ? ENOENT : EEXIST))
		return -1;
	return epoll_ctl(sockets->epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, event);
}

/* `known` is not NULL where the socket is watched already. */
static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known)
{
	struct sockets *sockets = context;
	struct epoll_event event = { .events = events_of(what), .data.fd = socket };

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		(void)epoll_ctl(sockets->epoll, EPOLL_CTL_DEL, socket, NULL);
		return 0;
	}
	if (!known)
		(void)curl_multi_assign(sockets->multi, socket, sockets);
	if (watch(sockets, socket, known != NULL, &event) == 0)
		return 0;
	sockets->fault = errno;
	return -1;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
	struct sockets *sockets = context;

	(void)multi;
	sockets->due_ms = timeout_ms < 0 ? NEVER : clock_ms() + (uint64_t)timeout_ms;
	return 0;
}

/* ---- Open and close ---- */

int sockets_open(struct sockets *sockets, CURLM *multi, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	*sockets = (struct sockets){ .multi = multi, .due_ms = NEVER };
	sockets->epoll = epoll_create1(EPOLL_CLOEXEC);
	sockets->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	event.data.fd = sockets->wake;
	if (sockets->epoll < 0 || sockets->wake < 0 ||
	    epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, sockets->wake, &event) < 0)
		return error_set(err, -errno, "cannot watch sockets: %s", strerror(errno));
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, sockets);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, sockets);
	return 0;
}

void sockets_close(struct sockets *sockets)
{
	if (!sockets->multi)
		return;
	close_fd(&sockets->epoll);
	close_fd(&sockets->wake);
	sockets->multi = NULL;
}

/* ---- Run ---- */

static int wait_of(const struct sockets *sockets, int timeout_ms)
{
	const uint64_t now = clock_ms();

	if (sockets->due_ms <= now)
		return 0;
	return sockets->due_ms - now < (uint64_t)timeout_ms ? (int)(sockets->due_ms - now) : timeout_ms;
}

static int result_of(const struct sockets *sockets, CURLMcode code, struct error *err)
{
	if (code == CURLM_OK)
		return 0;
	if (sockets->fault)
		return error_set(err, -EIO, "cannot watch a socket: %s", strerror(sockets->fault));
	return error_set(err, -EIO, "libcurl: %s", curl_multi_strerror(code));
}

static int act(struct sockets *sockets, curl_socket_t socket, int what, struct error *err)
{
	return result_of(sockets, curl_multi_socket_action(sockets->multi, socket, what, &sockets->running),
			 err);
}

/* Acknowledges what the socket has received of an answer. A server that sends an answer's parts one by one,
 * without TCP_NODELAY, keeps a short part until the one before it is acknowledged, and the kernel by itself
 * waits up to 40 ms with that. Ceph's radosgw is such a server: with nine short answers `kiln-oneshot begin`
 * takes 0.5 s in place of 0.15 s. */
static void acknowledge(curl_socket_t socket)
{
	const int one = 1;

	(void)setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
}

static int on_event(struct sockets *sockets, const struct epoll_event *event, struct error *err)
{
	const int running = sockets->running;
	uint64_t wakes;
	int r;

	if (event->data.fd == sockets->wake) {
		(void)!read(sockets->wake, &wakes, sizeof(wakes));
		return 0;
	}
	r = act(sockets, event->data.fd,
		(event->events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			(event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			(event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
		err);
	if (sockets->running >= running) /* the answer is not complete */
		acknowledge(event->data.fd);
	return r;
}

int sockets_run(struct sockets *sockets, int timeout_ms, struct error *err)
{
	struct epoll_event event[EVENTS_MAX];
	int ready = epoll_wait(sockets->epoll, event, EVENTS_MAX, wait_of(sockets, timeout_ms)), r = 0;

	if (ready < 0 && errno != EINTR)
		return error_set(err, -errno, "cannot watch sockets: %s", strerror(errno));
	for (int i = 0; i < ready && r == 0; i++)
		r = on_event(sockets, &event[i], err);
	if (r < 0 || sockets->due_ms > clock_ms())
		return r;
	sockets->due_ms = NEVER;
	return act(sockets, CURL_SOCKET_TIMEOUT, 0, err);
}

int sockets_look(const struct sockets *sockets, struct error *err)
{
	int running;

	return result_of(sockets, curl_multi_socket_all(sockets->multi, &running), err);
}

void sockets_wake(const struct sockets *sockets)
{
	const uint64_t one = 1;

	(void)!write(sockets->wake, &one, sizeof(one));
}

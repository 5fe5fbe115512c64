/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/wire/loop.h"

#include <string.h>

/* A round is short, so that the caller lives up to its watchdog. epoll's queue gives all descriptors their
 * turn. */
#define ROUND_EVENTS 8

int loop_open(struct loop *loop, struct error *err)
{
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->fd < 0 ? error_set(err, -errno, "epoll: %s", strerror(errno)) : 0;
}

void loop_done(struct loop *loop)
{
	close_fd(&loop->fd);
}

int loop_add(struct loop *loop, int fd, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(loop->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void loop_change(struct loop *loop, int fd, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	(void)epoll_ctl(loop->fd, EPOLL_CTL_MOD, fd, &event);
}

int loop_round(struct loop *loop, int timeout_ms, struct error *err)
{
	struct epoll_event events[ROUND_EVENTS];
	int count = epoll_wait(loop->fd, events, ROUND_EVENTS, timeout_ms);

	if (count < 0 && errno != EINTR)
		return error_set(err, -errno, "epoll: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		struct source *source = events[i].data.ptr;

		source->ready(source, events[i].events);
	}
	return 0;
}

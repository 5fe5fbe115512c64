/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one epoll set of kiln-controld. Level-triggered: a descriptor that can still be read or written is
 * reported again in the next round.
 *
 * Order: loop_open -> loop_add* -> loop_round* -> loop_done. One thread.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>
#include <sys/epoll.h>

/* epoll gives back this pointer for a descriptor. The owner of the descriptor embeds the source, and ready()
 * finds the owner from it. */
struct source {
	void (*ready)(struct source *source, uint32_t events);
};

struct loop {
	int fd;
};

MUST_CHECK int loop_open(struct loop *loop, struct error *err);
void loop_done(struct loop *loop);

/* Watches `fd` for `events` (EPOLLIN, EPOLLOUT). Closing the descriptor ends the watch.
 * The caller still owns both; `source` must outlive the round in which the descriptor is closed. */
MUST_CHECK int loop_add(struct loop *loop, int fd, struct source *source, uint32_t events);
/* Changes the events for which `fd` is watched. */
void loop_change(struct loop *loop, int fd, struct source *source, uint32_t events);

/* Waits for at most `timeout_ms` and calls ready() of each source whose descriptor is ready.
 * Errors: negative, epoll itself failed. */
MUST_CHECK int loop_round(struct loop *loop, int timeout_ms, struct error *err);

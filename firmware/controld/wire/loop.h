/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one epoll set of kiln-controld. Level-triggered: what is not read or written now is reported again.
 *
 * Order: loop_open -> loop_add* -> loop_round* -> loop_done. One thread.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>
#include <sys/epoll.h>

/* The pointer that epoll gives back for a descriptor. The owner of the descriptor embeds a source, and
 * ready() finds the owner from it. */
struct source {
	void (*ready)(struct source *source, uint32_t events);
};

struct loop {
	int fd;
};

MUST_CHECK int loop_open(struct loop *loop, struct error *err);
void loop_done(struct loop *loop);

/* Watches `fd` for `events` (EPOLLIN, EPOLLOUT). Closing the descriptor ends the watch.
 * Owns: neither; `source` must outlive the round in which the descriptor is closed. */
MUST_CHECK int loop_add(struct loop *loop, int fd, struct source *source, uint32_t events);
/* Watches for other events from now on. */
void loop_change(struct loop *loop, int fd, struct source *source, uint32_t events);

/* Waits for at most `timeout_ms` and calls ready() of each source that has something.
 * Errors: negative, epoll itself failed. */
MUST_CHECK int loop_round(struct loop *loop, int timeout_ms, struct error *err);

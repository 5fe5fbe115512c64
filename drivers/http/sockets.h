/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets and timers of a libcurl multi handle, watched with epoll.
 *
 * Why not curl_multi_perform(): it looks at each transfer at each call, with a poll() for each one. With many
 * small objects in flight, one byte that arrives for one of them costs a look at all of them. epoll names the
 * sockets that are ready, and libcurl looks at these alone.
 *
 * Threads: one, the owner's. Only sockets_wake() may be called from others.
 * Order: sockets_open -> (sockets_run)* -> curl_multi_cleanup -> sockets_close.
 */
#pragma once

#include "core/base/error.h"

#include <curl/curl.h>
#include <stdint.h>

struct sockets {
	CURLM *multi;
	int epoll, wake; /* wake: an eventfd */
	uint64_t due_ms; /* clock_ms() at which libcurl wants to be called; UINT64_MAX = never */
	int running;     /* transfers in libcurl's hands when it was called last */
	int fault;       /* errno of a socket that epoll did not take; libcurl then gives up all transfers */
};

/* Watches the sockets of `multi`. `sockets` must not move afterwards. Errors: those of the kernel. */
MUST_CHECK int sockets_open(struct sockets *sockets, CURLM *multi, struct error *err);
/* Accepts a zeroed struct. */
void sockets_close(struct sockets *sockets);

/* Waits at most `timeout_ms` for a socket, a timer of libcurl or sockets_wake(), then lets libcurl send and
 * receive. Errors: -EIO libcurl cannot go on; those of the kernel. */
MUST_CHECK int sockets_run(struct sockets *sockets, int timeout_ms, struct error *err);

/* Lets libcurl look at every transfer. libcurl 7.88 closes a socket whose connection was refused, and tries
 * the next address of the host when it looks at the transfer once more: without this call, after 200 ms. */
MUST_CHECK int sockets_look(const struct sockets *sockets, struct error *err);

/* Ends the wait of the current or the next sockets_run(). */
void sockets_wake(const struct sockets *sockets);

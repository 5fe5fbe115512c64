/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as a whole: the epoll set, the sockets on which it listens, its clients, its calls, and the
 * state of the box.
 *
 * Order: server_open -> remote_open -> server_run -> server_done. One thread.
 */
#pragma once

#include "controld/serve/sessions.h"
#include "controld/status/box.h"
#include "controld/status/kernel.h"

struct tls;

struct listener {
	struct source source;
	struct server *server;
	int fd; /* -1 = not listening */
	struct crowd crowd;
};

struct server {
	struct loop loop;
	struct listener local, remote;
	struct tls *tls; /* for the clients on other machines */
	struct calls calls;
	struct box box;
	struct sessions sessions;
	struct kernel_log kernel;
	uint64_t swept_ms;
	/* modification time of the list of revoked certificates that was applied last */
	struct timespec revoked_stamp;
};

/* Listens on the Unix socket that systemd passed, or else on PATH_CONTROL. */
MUST_CHECK int server_open(struct server *server, struct error *err);
/* Accepts the connections that arrive at listener->fd from now on. */
MUST_CHECK int server_listen(struct server *server, struct listener *listener, struct error *err);
/* Serves until SIGTERM or SIGINT. */
MUST_CHECK int server_run(struct server *server, struct error *err);
void server_done(struct server *server);

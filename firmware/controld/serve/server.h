/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as a whole: the epoll set, what it listens on, its clients, its calls, and the box it tells of.
 *
 * Order: server_open -> remote_open -> server_run -> server_done. One thread.
 */
#pragma once

#include "controld/serve/sessions.h"
#include "controld/status/box.h"

struct tls;

struct listener {
	struct source source;
	struct server *server;
	int fd; /* -1 = does not listen */
	struct crowd crowd;
};

struct server {
	struct loop loop;
	struct listener local, remote;
	struct tls *tls; /* for remote clients */
	struct calls calls;
	struct box box;
	struct sessions sessions;
	uint64_t swept_ms;
	struct timespec
		revoked_stamp; /* file time of the list of revoked certificates that was applied last */
};

/* Listens on the Unix socket: systemd's, where it passed one, else PATH_CONTROL. */
MUST_CHECK int server_open(struct server *server, struct error *err);
/* Accepts what arrives at listener->fd. */
MUST_CHECK int server_listen(struct server *server, struct listener *listener, struct error *err);
/* Serves until SIGTERM or SIGINT. */
MUST_CHECK int server_run(struct server *server, struct error *err);
void server_done(struct server *server);

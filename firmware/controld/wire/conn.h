/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client's connection, whatever carries it: a transport is three functions and a role.
 * Nothing blocks: the descriptor is in epoll, level-triggered.
 */
#pragma once

#include "core/control/control.h"

#include <sys/types.h>

struct conn;

struct conn_type {
	/* Bytes, 0 at the end of what the client sends, -EAGAIN, or another negative errno: it is broken. */
	ssize_t (*read)(struct conn *conn, void *data, size_t bytes);
	ssize_t (*write)(struct conn *conn, const void *data, size_t bytes);
	void (*close)(struct conn *conn); /* and frees it */
	/* What epoll cannot know; NULL where the descriptor is all there is. */
	bool (*wants_write)(const struct conn *conn);
	size_t (*buffered)(const struct conn *conn);
	/* Whether who it is may not be here any more; NULL where that does not change. */
	bool (*is_revoked)(struct conn *conn);
};

struct conn {
	const struct conn_type *type;
	int fd;
	enum control_role role;
	bool known;      /* false: who it is is still to be found out, by reading */
	char who[128];   /* for the log: the user, or the certificate's name and the address */
	uint64_t caller; /* idempotency keys are the caller's own: the user's id, the certificate's hash */
};

/* Of an accepted Unix socket, which it owns from then on, also on failure. The role is the greatest that
 * root, the groups kiln-admin, kiln-operate and kiln-view give, or below KILN_ROOT being this process's own
 * user. */
MUST_CHECK int conn_unix(int fd, struct conn **ret_conn, struct error *err);

struct tls;
/* The same of an accepted TCP socket; the role is the certificate's OU. What goes wrong later is logged. */
MUST_CHECK int conn_tls(struct tls *tls, int fd, struct conn **ret_conn, struct error *err);

static inline void conn_closep(struct conn **conn)
{
	if (*conn)
		(*conn)->type->close(*conn);
	*conn = NULL;
}

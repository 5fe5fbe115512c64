/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection to a client, over either transport. A transport (conn_unix.c, conn_tls.c) is a few functions and
 * a role. No function blocks; the session that owns the connection watches its descriptor.
 */
#pragma once

#include "core/control/control.h"

#include <sys/types.h>

struct conn;

struct conn_type {
	/* Returns the number of bytes; 0 at the end of what the client sends; -EAGAIN; or another negative
	 * errno for a broken connection. */
	ssize_t (*read)(struct conn *conn, void *data, size_t bytes);
	ssize_t (*write)(struct conn *conn, const void *data, size_t bytes);
	void (*close)(struct conn *conn); /* closes and frees */
	/* TLS buffers bytes and has wishes of its own, which epoll does not see. NULL: the descriptor tells
	 * all. */
	bool (*wants_write)(const struct conn *conn);
	size_t (*buffered)(const struct conn *conn); /* bytes that are decrypted and not read yet */
	/* Whether the client's certificate was revoked since the handshake. NULL: clients have none. */
	bool (*is_revoked)(struct conn *conn);
};

struct conn {
	const struct conn_type *type;
	int fd;
	enum control_role role;
	bool known;      /* role, who and caller are set; false during a TLS handshake, which read() does */
	char who[128];   /* for the log: the user, or the certificate's name and the address */
	uint64_t caller; /* whose idempotency keys: the user's id, or a hash of the certificate */
};

/* Wraps an accepted Unix socket. The role is the greatest that the peer's credentials give: root and members
 * of kiln-admin are admin, then kiln-operate, then kiln-view. Below KILN_ROOT this process's own user is
 * admin. Owns: `fd`, also on failure. */
MUST_CHECK int conn_unix(int fd, struct conn **ret_conn, struct error *err);

struct tls;
/* Wraps an accepted TCP socket. The role is the OU of the client's certificate. A handshake that fails later
 * is an event (client.refused).
 * Owns: `fd`, also on failure. */
MUST_CHECK int conn_tls(struct tls *tls, int fd, struct conn **ret_conn, struct error *err);

static inline void conn_closep(struct conn **conn)
{
	if (*conn)
		(*conn)->type->close(*conn);
	*conn = NULL;
}

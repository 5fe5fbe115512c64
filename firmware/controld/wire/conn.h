/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client's connection, over a Unix socket or over TLS. Each transport (conn_unix.c, conn_tls.c) provides
 * a few functions and finds out the client's role. No function blocks; the session that owns the connection
 * watches the descriptor.
 */
#pragma once

#include "core/control/control.h"

#include <netinet/in.h>
#include <sys/types.h>

struct conn;

struct conn_type {
	/* Reads from the client. Returns the number of bytes; 0 when the client sends no more; -EAGAIN; or
	 * another negative errno for a broken connection. */
	ssize_t (*read)(struct conn *conn, void *data, size_t bytes);
	ssize_t (*write)(struct conn *conn, const void *data, size_t bytes);
	void (*close)(struct conn *conn); /* closes and frees */
	/* Whether the transport itself has something to write: TLS does during a handshake, which epoll does
	 * not know. NULL: never. */
	bool (*wants_write)(const struct conn *conn);
	size_t (*buffered)(const struct conn *conn); /* bytes that are decrypted and not read yet */
	/* Returns whether the client's certificate was revoked since the handshake. NULL: clients have no
	 * certificate. */
	bool (*is_revoked)(struct conn *conn);
};

struct conn {
	const struct conn_type *type;
	int fd;
	enum control_role role;
	bool known;    /* role, who and caller are set; false until read() has finished the TLS handshake */
	char who[128]; /* for the log: the user, or the certificate's name and the address */
	char why[256]; /* why the TLS handshake failed; "" = it did not */
	/* The client's address or, for IPv6, its /64 network, which belongs to one customer; "" = on this
	 * box. */
	char place[INET6_ADDRSTRLEN];
	/* whose idempotency keys the client uses: the user's id, or a hash of the certificate */
	uint64_t caller;
};

/* Wraps an accepted Unix socket. The role is the highest that the peer's credentials give: root and members
 * of kiln-admin are admin; then kiln-operate, then kiln-view. With KILN_ROOT in the environment the user of
 * this process is admin too. Owns: `fd`, also on failure. */
MUST_CHECK int conn_unix(int fd, struct conn **ret_conn, struct error *err);

struct tls;
/* The OUs of client certificates, each the name of a role; the one with the lowest role first (struct
 * tls_options). */
extern const char *const conn_tls_units[];
/* Wraps an accepted TCP socket. The role is the OU of the client's certificate. Owns: `fd`, also on failure.
 */
MUST_CHECK int conn_tls(struct tls *tls, int fd, struct conn **ret_conn, struct error *err);

static inline void conn_closep(struct conn **conn)
{
	if (*conn)
		(*conn)->type->close(*conn);
	*conn = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/wire/conn.h"
#include "drivers/tls/tls.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

const char *const conn_tls_units[] = { "view", "operate", "admin", "ranks", NULL };
static const enum control_role roles[] = { CONTROL_VIEW, CONTROL_OPERATE, CONTROL_ADMIN, CONTROL_RANKS };

struct conn_tls {
	struct conn conn;
	struct tls_link *link;
	size_t pending; /* size of a write that TLS wants repeated unchanged; 0 = none */
	char address[INET6_ADDRSTRLEN];
};

static void name_it(struct conn_tls *self)
{
	const char *name = tls_name(self->link);

	(void)snprintf(self->conn.who, sizeof(self->conn.who), "%s at %s", *name ? name : "a client",
		       self->address);
}

static int greet(struct conn_tls *self)
{
	struct error err = { 0 };
	int r = tls_handshake(self->link, &err);

	if (r == -EAGAIN)
		return r;
	name_it(self);
	if (r < 0) {
		(void)snprintf(self->conn.why, sizeof(self->conn.why), "%.255s", err.text);
		return r;
	}
	self->conn.role = roles[tls_unit(self->link)];
	self->conn.caller = tls_peer(self->link);
	self->conn.known = true;
	return 0;
}

static ssize_t conn_tls_read(struct conn *conn, void *data, size_t bytes)
{
	struct conn_tls *self = (struct conn_tls *)conn;
	int r = conn->known ? 0 : greet(self);

	return r < 0 ? r : tls_read(self->link, data, bytes);
}

static ssize_t conn_tls_write(struct conn *conn, const void *data, size_t bytes)
{
	struct conn_tls *self = (struct conn_tls *)conn;
	size_t now = self->pending ? self->pending : bytes;
	ssize_t n = tls_write(self->link, data, now);

	self->pending = n == -EAGAIN ? now : 0;
	return n;
}

static void conn_tls_close(struct conn *conn)
{
	struct conn_tls *self = (struct conn_tls *)conn;

	tls_detachp(&self->link);
	(void)close(conn->fd);
	free(self);
}

static bool conn_tls_wants_write(const struct conn *conn)
{
	return tls_wants_write(((const struct conn_tls *)conn)->link);
}

static size_t conn_tls_buffered(const struct conn *conn)
{
	return conn->known ? tls_buffered(((const struct conn_tls *)conn)->link) : 0;
}

static bool conn_tls_is_revoked(struct conn *conn)
{
	return conn->known && tls_is_revoked(((struct conn_tls *)conn)->link);
}

static const struct conn_type tls_type = { conn_tls_read,        conn_tls_write,    conn_tls_close,
					   conn_tls_wants_write, conn_tls_buffered, conn_tls_is_revoked };

/* Prints the peer's address and place. An IPv4 client that connects to the IPv6 socket gets its IPv4 address.
 */
static void print_address(struct conn_tls *self)
{
	union {
		struct sockaddr any;
		struct sockaddr_in old;
		struct sockaddr_in6 ip;
	} address = { 0 };
	socklen_t bytes = sizeof(address);
	struct in6_addr *from = &address.ip.sin6_addr;
	const void *old = NULL;

	if (getpeername(self->conn.fd, &address.any, &bytes) < 0)
		return;
	if (address.any.sa_family == AF_INET)
		old = &address.old.sin_addr;
	else if (IN6_IS_ADDR_V4MAPPED(from))
		old = &from->s6_addr[12];
	(void)inet_ntop(old ? AF_INET : AF_INET6, old ? old : from, self->address, sizeof(self->address));
	memset(&from->s6_addr[8], 0, old ? 0 : 8);
	(void)inet_ntop(old ? AF_INET : AF_INET6, old ? old : from, self->conn.place,
			sizeof(self->conn.place));
}

/* Lets the kernel find out that a silent peer is gone: a subscriber sends nothing for days. */
static void set_options(int fd)
{
	const int one = 1, idle_s = 60, every_s = 20, count = 3;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int conn_tls(struct tls *tls, int fd, struct conn **ret_conn, struct error *err)
{
	struct conn_tls *self = calloc(1, sizeof(*self));
	int r = self ? 0 : error_set(err, -ENOMEM, "no memory for a client");

	if (r == 0)
		r = tls_attach(tls, fd, NULL, &self->link, err);
	if (r < 0) {
		free(self);
		(void)close(fd);
		return r;
	}
	set_options(fd);
	self->conn = (struct conn){ .type = &tls_type, .fd = fd };
	print_address(self);
	name_it(self);
	*ret_conn = &self->conn;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2, exactly, with ECDHE AEAD suites, and certificates of one private authority on both sides
 * (mbedTLS). No renegotiation, no resumption: every connection proves itself anew.
 *
 * Order: tls_open -> (tls_attach -> tls_handshake* -> tls_read, tls_write -> tls_detachp)* -> tls_closep.
 * Nothing blocks where the descriptor does not; one thread.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tls;      /* who we are and whom we trust */
struct tls_link; /* one connection */

enum tls_side { TLS_CLIENT, TLS_SERVER };

/* revoked_file and units are read as long as the struct tls lives. */
struct tls_options {
	enum tls_side side;
	const char *ca_file, *cert_file, *key_file; /* PEM; the key unencrypted */
	const char *revoked_file; /* SHA-256 fingerprints, one a line; read at each handshake; NULL = none */
	/* A server's: the client's certificate must have exactly one OU, one of these; least first,
	 * NULL-terminated. */
	const char *const *units;
	/* A server's: while it says false, a client of the first unit passes whatever the certificates' dates
	 * are. */
	bool (*clock_is_set)(void);
};

/* Errors: -EKEYREJECTED a file is missing or is not what it should be. */
MUST_CHECK int tls_open(const struct tls_options *options, struct tls **ret_tls, struct error *err);
void tls_closep(struct tls **tls);

/* A client names the DNS name that the server's certificate must carry; a server NULL. The descriptor stays
 * the caller's and outlives the link. */
MUST_CHECK int tls_attach(struct tls *tls, int fd, const char *server_name, struct tls_link **ret_link,
			  struct error *err);
void tls_detachp(struct tls_link **link);

/* -EAGAIN: again when tls_wants_write() or the descriptor can be read; -EACCES: one side refused the other,
 * and why. */
MUST_CHECK int tls_handshake(struct tls_link *link, struct error *err);
/* The client's OU, as an index into `units`; after the handshake. */
int tls_unit(const struct tls_link *link);
/* Names the peer's certificate for keys: the first 64 bits of its fingerprint. */
uint64_t tls_peer(const struct tls_link *link);
/* Whether it is revoked by now; after the handshake. */
bool tls_is_revoked(struct tls_link *link);
#define TLS_NAME_BYTES 65u
/* The same for logs: its CN, what is not printable ASCII as '?'; "" = it showed none. A mere claim before the
 * handshake is over. */
const char *tls_name(const struct tls_link *link);

/* Bytes; 0 = the peer ended it; -EAGAIN; another negative errno: broken. A write that said -EAGAIN is
 * repeated with the same bytes. */
ssize_t tls_read(struct tls_link *link, void *data, size_t bytes);
ssize_t tls_write(struct tls_link *link, const void *data, size_t bytes);
bool tls_wants_write(const struct tls_link *link);
/* Bytes that were taken from the descriptor and not read yet: epoll says nothing of them. */
size_t tls_buffered(const struct tls_link *link);

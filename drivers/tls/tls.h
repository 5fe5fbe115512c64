/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutual TLS (mbedTLS): version 1.2 only, suites with ECDHE and AEAD, and certificates of one private
 * authority on both sides. No renegotiation and no resumption: every connection checks the peer's
 * certificate.
 *
 * Order: tls_open -> (tls_attach -> tls_handshake* -> tls_read, tls_write -> tls_detachp)* -> tls_closep.
 * Threads: one for a struct tls and all its links. Blocks: only where the descriptor is in blocking mode.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tls;      /* the own certificate and key, and the authority that is trusted */
struct tls_link; /* a connection */

enum tls_side { TLS_CLIENT, TLS_SERVER };

/* revoked_file and units must live as long as the struct tls. */
struct tls_options {
	enum tls_side side;
	const char *ca_file, *cert_file, *key_file; /* PEM files; the key must not be encrypted */
	/* file with SHA-256 fingerprints, one per line, read at each handshake; NULL = no certificate is
	 * revoked */
	const char *revoked_file;
	/* For a server: the roles, the one with the fewest rights first, NULL at the end. A client's
	 * certificate must have exactly one OU, which must be one of these roles. */
	const char *const *units;
	/* For a server: returns whether the clock is set. While the clock is not set, the dates of
	 * certificates are not checked for clients with the first role. NULL = always set. */
	bool (*clock_is_set)(void);
};

/* Loads the files. Errors: -EKEYREJECTED a file is missing or invalid. */
MUST_CHECK int tls_open(const struct tls_options *options, struct tls **ret_tls, struct error *err);
void tls_closep(struct tls **tls);

/* Starts TLS on a descriptor, which the caller closes after tls_detachp(). `server_name` is the DNS name that
 * the server's certificate must have; a server passes NULL. */
MUST_CHECK int tls_attach(struct tls *tls, int fd, const char *server_name, struct tls_link **ret_link,
			  struct error *err);
void tls_detachp(struct tls_link **link);

/* For a descriptor in blocking mode: at `until_ms` (clock_ms()) tls_handshake() and tls_read() end with
 * -EAGAIN. A time limit of the descriptor is not enough, because it begins anew with each byte, and mbedTLS
 * reads on until it has a record that carries something. 0 = no limit. */
void tls_deadline(struct tls_link *link, uint64_t until_ms);

/* Goes on with the handshake. Errors: -EAGAIN call it again when the descriptor can be read or, with
 * tls_wants_write(), written; -EACCES one side refused the other; the error's text has the reason. */
MUST_CHECK int tls_handshake(struct tls_link *link, struct error *err);
/* Returns the client's role, as an index into `units`; valid after the handshake. */
int tls_unit(const struct tls_link *link);
/* Returns a number for the peer's certificate: the first 64 bits of its fingerprint. */
uint64_t tls_peer(const struct tls_link *link);
/* Returns whether the peer's certificate has been revoked since the handshake. */
bool tls_is_revoked(struct tls_link *link);
#define TLS_NAME_BYTES 65u
/* Returns the CN of the peer's certificate, for logs, with '?' in place of characters that are not printable
 * ASCII; "" = none. Before the end of the handshake the name is not proven. */
const char *tls_name(const struct tls_link *link);

/* Return the number of bytes; 0 = the peer closed the connection; -EAGAIN; another negative errno: the
 * connection is broken. After -EAGAIN call tls_write() again with the same bytes. */
ssize_t tls_read(struct tls_link *link, void *data, size_t bytes);
ssize_t tls_write(struct tls_link *link, const void *data, size_t bytes);
bool tls_wants_write(const struct tls_link *link);
/* Returns the number of bytes that are decrypted but not read yet. epoll does not report such bytes. */
size_t tls_buffered(const struct tls_link *link);

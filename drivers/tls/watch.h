/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads along the handshake of a client, before mbedTLS gets the bytes, and finds a client that sends
 * certificates of authorities that this side does not trust.
 *
 * mbedTLS follows a chain of certificates upwards, with the keys that the client itself sent, before it knows
 * who the client is: four keys of 8192 bits with exponents as long cost 1.9 s. So a client may send its own
 * certificate, and after it only those that this side has already.
 *
 * Reads what TLS 1.2 sends in clear: records of the handshake up to the first ChangeCipherSpec (RFC 5246 6.2
 * and 7.4). A message may be split between records, and a record between calls. Does not allocate. Threads:
 * none; it runs in the caller's thread.
 */
#pragma once

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_WATCH_CHAIN_MAX 4u /* most certificates of a client, its own included */

/* All counts are 0 at the begin of a connection. */
struct tls_watch {
	bool over;           /* the rest of the connection is encrypted */
	uint8_t head[5];     /* of a record: type, version, length */
	size_t head_bytes;   /* read so far */
	size_t record_left;  /* bytes of the record that are still to come */
	uint8_t type;        /* of a message */
	size_t message_at;   /* bytes of the message read so far, its type and length included */
	size_t length;       /* of the message, without these */
	size_t certificates; /* that have begun */
	size_t cert_at, cert_length;
	uint32_t same; /* bit i: as far as it has come, the certificate is that of authority i */
};

/* Reads the next bytes of the client. `trusted`: the certificates of the authorities, at most 32. Returns
 * false where the client sends another certificate besides its own. The caller must not give such bytes to
 * mbedTLS. */
bool tls_watch_pass(struct tls_watch *watch, const mbedtls_x509_crt *trusted, const uint8_t *data,
		    size_t bytes);

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/tls/watch.h"

/* RFC 5246 6.2.1 and 7.4 */
enum { RECORD_CHANGE_CIPHER_SPEC = 20, RECORD_HANDSHAKE = 22 };
enum { MESSAGE_CERTIFICATE = 11 };

#define TRUSTED_MAX  32u
#define LENGTH_BYTES 3u                  /* of a message, of the list of certificates, of a certificate */
#define MESSAGE_HEAD (1u + LENGTH_BYTES) /* type and length */

/* Returns a bit for each authority whose certificate has this length and, from `at` on, this byte. */
static uint32_t like(const mbedtls_x509_crt *trusted, size_t length, size_t at, const uint8_t *byte)
{
	uint32_t found = 0;

	for (unsigned i = 0; trusted && i < TRUSTED_MAX; i++, trusted = trusted->next)
		if (trusted->raw.len == length && (!byte || trusted->raw.p[at] == *byte))
			found |= 1u << i;
	return found;
}

/* Reads a byte of the list of certificates: a length and a certificate, and so on. */
static bool pass_list(struct tls_watch *watch, const mbedtls_x509_crt *trusted, uint8_t byte)
{
	if (watch->cert_at < LENGTH_BYTES) {
		watch->cert_length = watch->cert_length << 8 | byte;
		if (++watch->cert_at < LENGTH_BYTES)
			return true;
		watch->certificates++;
		watch->same = like(trusted, watch->cert_length, 0, NULL);
	} else {
		watch->same &= like(trusted, watch->cert_length, watch->cert_at++ - LENGTH_BYTES, &byte);
	}
	if (watch->certificates > 1 && (!watch->same || watch->certificates > TLS_WATCH_CHAIN_MAX))
		return false;
	if (watch->cert_at == LENGTH_BYTES + watch->cert_length)
		watch->cert_at = watch->cert_length = 0;
	return true;
}

/* Reads a byte of a handshake message. */
static bool pass_message(struct tls_watch *watch, const mbedtls_x509_crt *trusted, uint8_t byte)
{
	const size_t at = watch->message_at++;

	if (at == 0)
		watch->type = byte;
	else if (at < MESSAGE_HEAD)
		watch->length = watch->length << 8 | byte;
	else if (watch->type == MESSAGE_CERTIFICATE && at >= MESSAGE_HEAD + LENGTH_BYTES &&
		 !pass_list(watch, trusted, byte))
		return false;
	if (watch->message_at >= MESSAGE_HEAD && watch->message_at == MESSAGE_HEAD + watch->length)
		watch->message_at = watch->length = 0;
	return true;
}

/* Reads a byte of a record's head. */
static void pass_head(struct tls_watch *watch, uint8_t byte)
{
	watch->head[watch->head_bytes++] = byte;
	if (watch->head_bytes < sizeof(watch->head))
		return;
	watch->record_left = (size_t)watch->head[3] << 8 | watch->head[4];
	watch->over = watch->head[0] == RECORD_CHANGE_CIPHER_SPEC;
	if (!watch->record_left)
		watch->head_bytes = 0;
}

bool tls_watch_pass(struct tls_watch *watch, const mbedtls_x509_crt *trusted, const uint8_t *data,
		    size_t bytes)
{
	for (size_t i = 0; i < bytes && !watch->over; i++) {
		if (watch->head_bytes < sizeof(watch->head)) {
			pass_head(watch, data[i]);
			continue;
		}
		if (watch->head[0] == RECORD_HANDSHAKE && !pass_message(watch, trusted, data[i]))
			return false;
		if (!--watch->record_left)
			watch->head_bytes = 0;
	}
	return true;
}

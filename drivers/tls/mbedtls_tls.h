/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/tls: what differs between mbedTLS 2.28 (Debian 12) and 3.6, once for both. The functions
 * return what mbedTLS returns: 0 or a negative MBEDTLS_ERR_*.
 */
#pragma once

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>

#define TLS_SERIAL_BYTES 16u

#if MBEDTLS_VERSION_MAJOR < 3

#define TLS_ERR_OLD_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#define TLS_ERR_NO_SUITE    MBEDTLS_ERR_SSL_NO_CIPHER_CHOSEN
#define TLS_ERR_NO_CURVE    MBEDTLS_ERR_SSL_NO_USABLE_CIPHERSUITE

static inline int tls_parse_key(mbedtls_pk_context *key, const char *file, mbedtls_ctr_drbg_context *random)
{
	(void)random;
	return mbedtls_pk_parse_keyfile(key, file, NULL);
}

/* Signs a SHA-256. */
static inline int tls_sign(mbedtls_pk_context *key, const unsigned char *hash, size_t hash_bytes,
			   unsigned char *signature, size_t size, size_t *ret_bytes,
			   mbedtls_ctr_drbg_context *random)
{
	(void)size;
	return mbedtls_pk_sign(key, MBEDTLS_MD_SHA256, hash, hash_bytes, signature, ret_bytes,
			       mbedtls_ctr_drbg_random, random);
}

static inline bool tls_is_authority(const mbedtls_x509_crt *cert)
{
	return cert->ca_istrue;
}

static inline int tls_check_pair(const mbedtls_pk_context *public, const mbedtls_pk_context *private,
				 mbedtls_ctr_drbg_context *random)
{
	(void)random;
	return mbedtls_pk_check_pair(public, private);
}

static inline void tls_only_1_2(mbedtls_ssl_config *config)
{
	mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
	mbedtls_ssl_conf_max_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
}

/* Allows only curves that are fast here, the fastest one first: a stranger chooses the curve of a handshake,
 * and a key on brainpoolP512r1 costs 27 ms, on X25519 1.3 ms. The certificates' keys are on these curves,
 * too.
 */
static inline void tls_only_fast_curves(mbedtls_ssl_config *config)
{
	static const mbedtls_ecp_group_id curves[] = { MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
						       MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_SECP521R1,
						       MBEDTLS_ECP_DP_NONE };

	mbedtls_ssl_conf_curves(config, curves);
}

static inline bool tls_handshake_is_over(mbedtls_ssl_context *ssl)
{
	return ssl->state == MBEDTLS_SSL_HANDSHAKE_OVER;
}

/* The kind of the alert that ended the connection (RFC 5246 7.2). */
static inline int tls_alert_of(const mbedtls_ssl_context *ssl)
{
	return ssl->in_msg[1];
}

static inline int tls_set_serial(mbedtls_x509write_cert *cert, unsigned char serial[static TLS_SERIAL_BYTES])
{
	mbedtls_mpi number;
	int r;

	mbedtls_mpi_init(&number);
	r = mbedtls_mpi_read_binary(&number, serial, TLS_SERIAL_BYTES);
	if (r == 0)
		r = mbedtls_x509write_crt_set_serial(cert, &number);
	mbedtls_mpi_free(&number);
	return r;
}

#else

#define TLS_ERR_OLD_VERSION MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION
#define TLS_ERR_NO_SUITE    MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE
#define TLS_ERR_NO_CURVE    MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE

static inline int tls_parse_key(mbedtls_pk_context *key, const char *file, mbedtls_ctr_drbg_context *random)
{
	return mbedtls_pk_parse_keyfile(key, file, NULL, mbedtls_ctr_drbg_random, random);
}

static inline int tls_sign(mbedtls_pk_context *key, const unsigned char *hash, size_t hash_bytes,
			   unsigned char *signature, size_t size, size_t *ret_bytes,
			   mbedtls_ctr_drbg_context *random)
{
	return mbedtls_pk_sign(key, MBEDTLS_MD_SHA256, hash, hash_bytes, signature, size, ret_bytes,
			       mbedtls_ctr_drbg_random, random);
}

static inline bool tls_is_authority(const mbedtls_x509_crt *cert)
{
	return cert->MBEDTLS_PRIVATE(ca_istrue);
}

static inline int tls_check_pair(const mbedtls_pk_context *public, const mbedtls_pk_context *private,
				 mbedtls_ctr_drbg_context *random)
{
	return mbedtls_pk_check_pair(public, private, mbedtls_ctr_drbg_random, random);
}

static inline void tls_only_1_2(mbedtls_ssl_config *config)
{
	mbedtls_ssl_conf_min_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
	mbedtls_ssl_conf_max_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
}

static inline void tls_only_fast_curves(mbedtls_ssl_config *config)
{
	static const uint16_t curves[] = { MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
					   MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
					   MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1,
					   MBEDTLS_SSL_IANA_TLS_GROUP_SECP521R1,
					   MBEDTLS_SSL_IANA_TLS_GROUP_NONE };

	mbedtls_ssl_conf_groups(config, curves);
}

static inline bool tls_handshake_is_over(mbedtls_ssl_context *ssl)
{
	return mbedtls_ssl_is_handshake_over(ssl);
}

/* 3.6 has no function for this: the member is private. */
static inline int tls_alert_of(const mbedtls_ssl_context *ssl)
{
	return ssl->MBEDTLS_PRIVATE(in_msg)[1];
}

static inline int tls_set_serial(mbedtls_x509write_cert *cert, unsigned char serial[static TLS_SERIAL_BYTES])
{
	return mbedtls_x509write_crt_set_serial_raw(cert, serial, TLS_SERIAL_BYTES);
}

#endif

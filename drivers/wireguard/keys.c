/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/wireguard/keys.h"
#include "core/base/paths.h"

#include <mbedtls/base64.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ecp.h>
#include <mbedtls/entropy.h>
#include <string.h>

#define RAW_BYTES      32u
#define FILE_BYTES_MAX 256u

/* The objects of mbedTLS that computing with keys needs. */
struct curve {
	mbedtls_entropy_context entropy;
	mbedtls_ctr_drbg_context random;
	mbedtls_ecp_group group;
	mbedtls_ecp_point public;
	mbedtls_mpi private;
};

static void curve_done(struct curve *curve)
{
	mbedtls_mpi_free(&curve->private);
	mbedtls_ecp_point_free(&curve->public);
	mbedtls_ecp_group_free(&curve->group);
	mbedtls_ctr_drbg_free(&curve->random);
	mbedtls_entropy_free(&curve->entropy);
}

static int curve_init(struct curve *curve)
{
	int r;

	mbedtls_entropy_init(&curve->entropy);
	mbedtls_ctr_drbg_init(&curve->random);
	mbedtls_ecp_group_init(&curve->group);
	mbedtls_ecp_point_init(&curve->public);
	mbedtls_mpi_init(&curve->private);
	r = mbedtls_ctr_drbg_seed(&curve->random, mbedtls_entropy_func, &curve->entropy, NULL, 0);
	return r != 0 ? r : mbedtls_ecp_group_load(&curve->group, MBEDTLS_ECP_DP_CURVE25519);
}

static void encode(const unsigned char raw[static RAW_BYTES], char out[static WIREGUARD_KEY_BYTES])
{
	size_t bytes;

	(void)mbedtls_base64_encode((unsigned char *)out, WIREGUARD_KEY_BYTES, &bytes, raw, RAW_BYTES);
}

/* Computes the public key of curve->private. The random numbers blind the computation against an observer who
 * measures it. */
static int write_public(struct curve *curve, char out[static WIREGUARD_KEY_BYTES])
{
	unsigned char raw[RAW_BYTES];
	size_t bytes;
	int r = mbedtls_ecp_mul(&curve->group, &curve->public, &curve->private, &curve->group.G,
				mbedtls_ctr_drbg_random, &curve->random);

	if (r == 0)
		r = mbedtls_ecp_point_write_binary(&curve->group, &curve->public, MBEDTLS_ECP_PF_UNCOMPRESSED,
						   &bytes, raw, sizeof(raw));
	if (r == 0)
		encode(raw, out);
	return r;
}

static bool decode(const char *text, unsigned char raw[static RAW_BYTES])
{
	char again[WIREGUARD_KEY_BYTES];
	size_t bytes;
	bool is;

	if (strlen(text) != WIREGUARD_KEY_BYTES - 1 ||
	    mbedtls_base64_decode(raw, RAW_BYTES, &bytes, (const unsigned char *)text,
				  WIREGUARD_KEY_BYTES - 1) != 0 ||
	    bytes != RAW_BYTES)
		return false;
	/* A key has one text. base64 leaves two bits of the last character unused. */
	encode(raw, again);
	is = strcmp(again, text) == 0;
	explicit_bzero(again, sizeof(again));
	return is;
}

bool wireguard_is_key(const char *text)
{
	unsigned char raw[RAW_BYTES];
	const bool is = decode(text, raw);

	explicit_bzero(raw, sizeof(raw));
	return is;
}

int wireguard_make_key(char ret_private[static WIREGUARD_KEY_BYTES],
		       char ret_public[static WIREGUARD_KEY_BYTES], struct error *err)
{
	CLEANUP(curve_done) struct curve curve;
	unsigned char raw[RAW_BYTES];
	int r = curve_init(&curve);

	if (r == 0)
		r = mbedtls_ecp_gen_privkey(&curve.group, &curve.private, mbedtls_ctr_drbg_random,
					    &curve.random);
	if (r == 0)
		r = mbedtls_mpi_write_binary_le(&curve.private, raw, sizeof(raw));
	if (r == 0)
		r = write_public(&curve, ret_public);
	if (r == 0)
		encode(raw, ret_private);
	explicit_bzero(raw, sizeof(raw));
	return r == 0 ? 0 : error_set(err, -EIO, "a new WireGuard key: mbedTLS says -0x%x", (unsigned)-r);
}

int wireguard_public_key(const char *private, char ret_public[static WIREGUARD_KEY_BYTES], struct error *err)
{
	CLEANUP(curve_done) struct curve curve;
	unsigned char raw[RAW_BYTES];
	int r = curve_init(&curve);

	if (r == 0)
		r = decode(private, raw) ? mbedtls_mpi_read_binary_le(&curve.private, raw, sizeof(raw))
					 : MBEDTLS_ERR_ECP_INVALID_KEY;
	explicit_bzero(raw, sizeof(raw));
	if (r == 0)
		r = mbedtls_ecp_check_privkey(&curve.group, &curve.private);
	if (r == 0)
		r = write_public(&curve, ret_public);
	return r == 0 ? 0
		      : error_set(err, -EINVAL,
				  "no private WireGuard key: expected one line of 44 characters of base64");
}

int wireguard_parse_key(const char *text, char ret_private[static WIREGUARD_KEY_BYTES],
			char ret_public[static WIREGUARD_KEY_BYTES], struct error *err)
{
	const size_t bytes = strcspn(text, "\r\n");
	const bool is_line = bytes == WIREGUARD_KEY_BYTES - 1 && !text[bytes + strspn(text + bytes, "\r\n")];
	char private[WIREGUARD_KEY_BYTES];
	int r;

	(void)snprintf(private, sizeof(private), "%.*s", is_line ? (int)bytes : 0, text);
	r = wireguard_public_key(private, ret_public, err);
	if (r == 0)
		memcpy(ret_private, private, sizeof(private));
	explicit_bzero(private, sizeof(private));
	return r;
}

int wireguard_read_key(const char *path, char ret_private[static WIREGUARD_KEY_BYTES],
		       char ret_public[static WIREGUARD_KEY_BYTES], struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes = 0;
	int r = file_read(path, FILE_BYTES_MAX, &text, &bytes, err);

	if (r < 0)
		return r;
	r = wireguard_parse_key(text, ret_private, ret_public, err);
	explicit_bzero(text, bytes);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

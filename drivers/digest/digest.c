/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/digest/digest.h"
#include "drivers/digest/mbedtls.h"

#include <string.h>

#define PIECE_BYTES ((size_t)256 << 10)

void digest_hex(const uint8_t *bytes, size_t count, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * count] = 0;
}

void digest_sha256(const void *data, uint64_t bytes, char ret_hex[static DIGEST_HEX_BYTES])
{
	uint8_t digest[32];

	/* The result is ignored: mbedtls_sha256() can fail only with a hardware engine, and this build of
	 * mbedTLS uses none. */
	(void)mbedtls_sha256(data, bytes, digest, 0);
	digest_hex(digest, sizeof(digest), ret_hex);
}

struct digest {
	mbedtls_sha256_context context;
};

struct digest *digest_begin(void)
{
	struct digest *digest = malloc(sizeof(*digest));

	if (!digest)
		return NULL;
	mbedtls_sha256_init(&digest->context);
	(void)mbedtls_sha256_starts(&digest->context, 0);
	return digest;
}

void digest_add(struct digest *digest, const void *data, uint64_t bytes)
{
	(void)mbedtls_sha256_update(&digest->context, data, bytes);
}

void digest_end(struct digest *digest, char ret_hex[static DIGEST_HEX_BYTES])
{
	uint8_t sha256[32];

	(void)mbedtls_sha256_finish(&digest->context, sha256);
	mbedtls_sha256_free(&digest->context);
	free(digest);
	digest_hex(sha256, sizeof(sha256), ret_hex);
}

int digest_file(const char *path, char ret_hex[static DIGEST_HEX_BYTES], struct error *err)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	CLEANUP(free_ptr) uint8_t *piece = NULL;
	struct digest *digest;
	size_t n;

	if (!file)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	piece = malloc(PIECE_BYTES);
	digest = piece ? digest_begin() : NULL;
	if (!digest)
		return error_set(err, -ENOMEM, "%s: no memory to read it", path);
	while ((n = fread(piece, 1, PIECE_BYTES, file)) > 0)
		digest_add(digest, piece, n);
	digest_end(digest, ret_hex);
	return ferror(file) ? error_set(err, -EIO, "%s: cannot read it", path) : 0;
}

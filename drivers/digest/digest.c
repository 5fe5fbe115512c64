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

int digest_file(const char *path, char ret_hex[static DIGEST_HEX_BYTES], struct error *err)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	CLEANUP(free_ptr) uint8_t *piece = malloc(PIECE_BYTES);
	mbedtls_sha256_context context;
	uint8_t digest[32];
	size_t n;

	if (!file || !piece)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	mbedtls_sha256_init(&context);
	(void)mbedtls_sha256_starts(&context, 0);
	while ((n = fread(piece, 1, PIECE_BYTES, file)) > 0)
		(void)mbedtls_sha256_update(&context, piece, n);
	(void)mbedtls_sha256_finish(&context, digest);
	mbedtls_sha256_free(&context);
	if (ferror(file))
		return error_set(err, -EIO, "%s: cannot read it", path);
	digest_hex(digest, sizeof(digest), ret_hex);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/digest/mbedtls.h"
#include "drivers/store/backend.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES (256u << 10)

static int hash_chunk(int fd, uint64_t offset, uint64_t bytes, uint8_t *chunk,
		      mbedtls_sha256_context *const sha256[2], mbedtls_md5_context *md5, struct error *err)
{
	size_t want = bytes < CHUNK_BYTES ? (size_t)bytes : CHUNK_BYTES;
	ssize_t got = pread(fd, chunk, want, (off_t)offset);

	if (got < 0)
		return error_set(err, -EIO, "reading the file: %s", strerror(errno));
	if (got == 0)
		return error_set(err, -ESTALE, "the file became shorter: it ends at byte %" PRIu64, offset);
	for (int i = 0; i < 2; i++)
		if (sha256[i])
			(void)mbedtls_sha256_update(sha256[i], chunk, (size_t)got);
	if (md5)
		(void)mbedtls_md5_update(md5, chunk, (size_t)got);
	return (int)got;
}

int store_hash_file(int fd, uint64_t offset, uint64_t bytes, const struct store_hashes *hashes,
		    void (*between)(void *context), void *context, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *chunk = malloc(CHUNK_BYTES);
	mbedtls_sha256_context sha256;
	mbedtls_md5_context md5;
	int r = chunk ? 0 : error_set(err, -ENOMEM, "no memory to read a file");

	mbedtls_sha256_init(&sha256);
	mbedtls_md5_init(&md5);
	(void)mbedtls_sha256_starts(&sha256, 0);
	(void)mbedtls_md5_starts(&md5);
	for (uint64_t done = 0; r >= 0 && done < bytes; done += (uint64_t)r) {
		r = hash_chunk(fd, offset + done, bytes - done, chunk,
			       (mbedtls_sha256_context *const[2]){ hashes->whole,
								   hashes->ret_sha256 ? &sha256 : NULL },
			       hashes->ret_md5 ? &md5 : NULL, err);
		if (r < 0)
			break;
		if (between)
			between(context);
	}
	if (r >= 0 && hashes->ret_sha256)
		(void)mbedtls_sha256_finish(&sha256, hashes->ret_sha256);
	if (r >= 0 && hashes->ret_md5)
		(void)mbedtls_md5_finish(&md5, hashes->ret_md5);
	mbedtls_sha256_free(&sha256);
	mbedtls_md5_free(&md5);
	return r < 0 ? r : 0;
}

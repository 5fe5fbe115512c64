/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes SHA-256 (with mbedTLS), as 64 lower-case hex digits and a NUL. Any thread may call; a struct
 * digest belongs to one thread. Order: digest_begin -> digest_add* -> digest_end, which frees it.
 * Owns: the caller owns the buffer of the result. Crash: nothing is stored.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_BYTES 65u

/* Writes any bytes in hex: 2 * count digits and a NUL. */
void digest_hex(const uint8_t *bytes, size_t count, char *out);
void digest_sha256(const void *data, uint64_t bytes, char ret_hex[static DIGEST_HEX_BYTES]);
/* The same in pieces, for what is not in memory as a whole. digest_begin() returns NULL without memory. */
struct digest;
struct digest *digest_begin(void);
void digest_add(struct digest *digest, const void *data, uint64_t bytes);
void digest_end(struct digest *digest, char ret_hex[static DIGEST_HEX_BYTES]);
MUST_CHECK int digest_file(const char *path, char ret_hex[static DIGEST_HEX_BYTES], struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of WireGuard: Curve25519 by mbedTLS, in base64 as wg(8) and systemd.netdev(5) have them. Threads: any.
 * Owns: the caller owns each buffer, and clears a private key with explicit_bzero() after its use.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

#define WIREGUARD_KEY_BYTES 45u /* 44 characters and the NUL */

/* Tells whether the text is 32 bytes in base64. */
bool wireguard_is_key(const char *text);

/* Makes a key pair of random numbers. Errors: -EIO mbedTLS has none. */
MUST_CHECK int wireguard_make_key(char ret_private[static WIREGUARD_KEY_BYTES],
				  char ret_public[static WIREGUARD_KEY_BYTES], struct error *err);

/* Computes the public key that belongs to a private key. Errors, whose text never contains the key: -EINVAL
 * it is no private key of Curve25519, such as one of `wg genkey`. */
MUST_CHECK int wireguard_public_key(const char *private, char ret_public[static WIREGUARD_KEY_BYTES],
				    struct error *err);

/* Reads the file of a private key, whose only line is the key. `path` is the name of the file in errors.
 * Errors: those of file_read() and of wireguard_public_key(). */
MUST_CHECK int wireguard_read_key(const char *path, char ret_private[static WIREGUARD_KEY_BYTES],
				  char ret_public[static WIREGUARD_KEY_BYTES], struct error *err);
/* Does the same with the text of such a file. */
MUST_CHECK int wireguard_parse_key(const char *text, char ret_private[static WIREGUARD_KEY_BYTES],
				   char ret_public[static WIREGUARD_KEY_BYTES], struct error *err);

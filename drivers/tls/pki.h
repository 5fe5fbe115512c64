/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small certificate authority for a rack of boxes. It is a folder with ca.crt and ca.key, and with NAME.crt
 * and NAME.key of each certificate that it issued. EC keys on P-256, X.509 v3, PEM; only the owner can read a
 * key. No file is ever overwritten. Threads: none; it runs in the caller's thread. Crash: may leave a key
 * without its certificate.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PKI_NAME_MAX   63u
#define PKI_HASH_BYTES 32u /* length of a SHA-256 */

/* Checks the name of a box or a person. Errors: -EINVAL it is not 1 .. PKI_NAME_MAX characters of
 * [A-Za-z0-9.-], the first one a letter or a digit. */
MUST_CHECK int pki_check_name(const char *name, struct error *err);

/* Makes the authority's key and certificate. Errors: -EEXIST the folder has an authority already. */
MUST_CHECK int pki_init(const char *folder, const char *name, unsigned days, struct error *err);

/* Issues a certificate. `unit` NULL: for the box with the DNS name `name` (SAN; EKU serverAuth). Else for a
 * person with the role `unit` (OU; EKU clientAuth). Errors: -EINVAL the name is not 1 .. PKI_NAME_MAX
 * characters of [A-Za-z0-9.-]; -EEXIST. */
MUST_CHECK int pki_issue(const char *folder, const char *name, const char *unit, unsigned days,
			 struct error *err);

/* Checks that a text is PEM with at least one certificate, and that every certificate in it can be parsed.
 * text[bytes] must be a NUL. Errors: -EINVAL. */
MUST_CHECK int pki_check(const char *text, uint64_t bytes, struct error *err);

/* Checks that FOLDER/NAME.crt is the certificate of a box, and that FOLDER/revoked does not have it. Errors:
 * -EIO there is none; -EINVAL it belongs to a person or an authority; -EKEYREVOKED. */
MUST_CHECK int pki_check_box(const char *folder, const char *name, struct error *err);

/* Signs a SHA-256 with the authority's key; `ret_base64` is the signature as text. Errors: -EIO the key
 * cannot be read; -E2BIG the text is longer than `size`. */
MUST_CHECK int pki_sign(const char *folder, const unsigned char hash[static PKI_HASH_BYTES], char *ret_base64,
			size_t size, struct error *err);

/* Writes a file that did not exist, and flushes it. Errors: -EEXIST; -errno of open(2), write(2) or fsync(2).
 */
MUST_CHECK int pki_write_new(const char *path, const char *text, mode_t mode, struct error *err);

/* Adds the fingerprint of FOLDER/NAME.crt to FOLDER/revoked, durably. Repeating it changes nothing. */
MUST_CHECK int pki_revoke(const char *folder, const char *name, struct error *err);

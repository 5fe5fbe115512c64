/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads one file of the spool. */
#pragma once

#include "uploadd/state.h"

/* Puts a file of *ret_bytes bytes with store_put_file(). *ret_sha256_hex (65 bytes) may be NULL. Errors:
 * those of drivers/store; -ENOENT, and *ret_gone is true: the file was removed from the spool meanwhile. */
MUST_CHECK int put_file(struct upload *upload, const char *name, char *ret_sha256_hex, uint64_t *ret_bytes,
			bool *ret_gone, struct error *err);

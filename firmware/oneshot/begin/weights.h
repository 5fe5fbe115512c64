/* SPDX-License-Identifier: Apache-2.0 */
/* The file that model.weights names: a key of the sink, or the URL of an object that the sink's credential
 * opens. */
#pragma once

#include "core/base/paths.h"
#include "core/config/config.h"
#include "drivers/digest/digest.h"

/* Copies the file beside the records, as run_begin() expects it. `expected` is its SHA-256, NULL = any.
 * Errors: -ENOENT and the like; -EBADMSG the SHA-256 is another one; the message names both. */
MUST_CHECK int weights_bring(const struct config *config, const char *expected,
			     char ret_path[static PATH_BYTES], char ret_sha256[static DIGEST_HEX_BYTES],
			     struct error *err);

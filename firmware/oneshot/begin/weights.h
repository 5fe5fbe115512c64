/* SPDX-License-Identifier: Apache-2.0 */
/* The file that model.weights names (drivers/store/weights.h), on the box's disk, and its SHA-256. */
#pragma once

#include "core/base/paths.h"
#include "core/config/config.h"
#include "drivers/digest/digest.h"

/* Copies the file to PATH_RUNS, where run_begin() expects it. `expected` is the SHA-256 that it must have;
 * NULL = any. Errors: -ENOENT and other errors of the store; -EBADMSG the file has another SHA-256. */
MUST_CHECK int weights_bring(const struct config *config, const char *expected,
			     char ret_path[static PATH_BYTES], char ret_sha256[static DIGEST_HEX_BYTES],
			     struct error *err);

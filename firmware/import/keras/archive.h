/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A .keras file: a zip archive with config.json, metadata.json and model.weights.h5. The members are read,
 * never extracted by their names: config.json into memory, the weights into a file that the caller names.
 */
#pragma once

#include "core/base/json.h"

#define ARCHIVE_CONFIG_MAX  JSON_BYTES_MAX
#define ARCHIVE_WEIGHTS_MAX (16ull << 30)

/* Reads a .keras file. `weights`: the path of the file that gets model.weights.h5, which must not exist; the
 * caller removes it, also after an error. *ret_config: the caller deletes it. Blocks. Errors: -ENOENT and
 * others of open(2); -EBADMSG no archive, a member that is missing, twice there, cut or larger than the
 * limits above, or JSON with a mistake; -ENOSPC. */
MUST_CHECK int archive_read_keras(const char *path, const char *weights, cJSON **ret_config,
				  struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration from a text: a file in memory, for the functions that read a configuration by its path. */
#pragma once

#include "core/base/error.h"

#define CONFIG_HELD       "/proc/self/fd/" /* the path of such a file begins so */
#define CONFIG_HELD_BYTES 64u              /* of the path, with the NUL */

/* Writes the text into a file in memory, and the file's path to `path`. Returns the descriptor of the file.
 * Owns: the caller closes it; then the file is gone. Errors: -errno of memfd_create(2) or write(2). */
MUST_CHECK int config_hold(const char *text, char path[static CONFIG_HELD_BYTES], struct error *err);

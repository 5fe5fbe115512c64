/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/paths.h"

/* Makes an empty file "kiln-NAME-XXXXXX" in the folder that the environment variable TMPDIR names, or in
 * /tmp. The caller removes the file. */
MUST_CHECK int temporary_file(const char *name, char ret_path[static PATH_BYTES], struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/paths.h"

/* Makes an empty file "kiln-NAME-XXXXXX" in TMPDIR, or in /tmp without TMPDIR. The caller removes the file.
 */
MUST_CHECK int temporary_file(const char *name, char ret_path[static PATH_BYTES], struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Loads kiln-ranks.so. It stays loaded until the process ends, because Open MPI cannot be loaded twice. */
#pragma once

#include "core/base/error.h"
#include "drivers/ranks/library.h"

/* `path`: NULL = in the folder of this program. Errors: -ENOENT the library, or one that it needs, is not
 * there; -EINVAL it is of another version. */
MUST_CHECK int load_library(const char *path, const struct ranks_library **ret_library, struct error *err);

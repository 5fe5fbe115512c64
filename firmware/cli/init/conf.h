/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/init/seen.h"

#include <stdio.h>

/* Writes a whole kiln.conf with comments: the stores, the schema, a first network that fits, loss and
 * optimizer. `url`: of the shards. The caller looks at ferror(out). Errors: -EINVAL no feature can be an
 * input. */
MUST_CHECK int conf_write(const struct seen *seen, const struct config_store *where, FILE *out,
			  struct error *err);

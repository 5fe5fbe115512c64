/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/series/promote_request.h"

/* Reads what is requested: by the arguments [--series ID] [--trial NAME] [--force] [--rollback], which it
 * writes to the file, or by the file (core/series/promote_request.h). Arguments that are those of the file go
 * on with it. Returns 1, or 0 where nothing is requested. Errors: those of the file. */
MUST_CHECK int request_read(int argc, char **argv, struct promote_request *ret_request, struct error *err);

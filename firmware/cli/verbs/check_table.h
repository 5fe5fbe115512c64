/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a preflight, as `kiln check` and `kiln config check --data` print it. */
#pragma once

#include "preflight/preflight.h"

/* Prints the table or, with `json`, one JSON object. Returns CLI_OK, or CLI_ERROR where a row failed. */
int check_print(const struct preflight *preflight, bool json);

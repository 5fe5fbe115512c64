/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the ranks of a run: for the status, `kiln stalls` and the report of a night. */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

/* Prints a line for each rank, and the slowest one. `ranks` is what status_ranks() returns; null prints
 * nothing. */
void ranks_text_print(const cJSON *ranks, FILE *out);

/* SPDX-License-Identifier: Apache-2.0 */
/* The differences between two runs (core/series/difference.h), as text and as CSV. The strings of
 * `difference` are visible (json_visible()). */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

void differs_print(const cJSON *difference, FILE *out);
/* Prints lines "what,key,a,b"; what: "setting", "fact", "parts" or "figure". */
void differs_print_csv(const cJSON *difference, FILE *out);

/* SPDX-License-Identifier: Apache-2.0 */
/* A result of the control protocol for people, and as JSON. Paths are json_member()'s. */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

/* Returns the text at a path; "-" where it is null or missing. */
const char *client_text(const cJSON *object, const char *path);
/* Returns the number at a path; NaN where it is null or missing. */
double client_number(const cJSON *object, const char *path);
/* Prints text that a box sent. Terminal control characters become '?'. */
void client_print(const char *text, FILE *out);
/* Prints JSON to standard output: indented, or on one line where many boxes are asked. Returns CLI_OK or
 * CLI_ERROR. */
int client_print_json(const cJSON *json);

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a result of the control protocol as text or JSON. A path has the syntax of json_member():
 * "progress.step". A verb that prints a result as text calls json_visible() for the whole result first. */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

/* Returns the text at `path`; "-" where the value is null or missing. */
const char *client_text(const cJSON *object, const char *path);
/* Returns the number at `path`; NaN where the value is null or missing. */
double client_number(const cJSON *object, const char *path);
/* Prints JSON to standard output: indented, or as one line where --host gives several boxes. Returns CLI_OK
 * or CLI_ERROR. */
int client_print_json(const cJSON *json);

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the status of a box (the result of the method "status") for `kiln status` and `kiln watch`. */
#pragma once

#include "cli/base/verb.h"

#include <stdio.h>

/* Prints the status as text of many lines. */
void screen_print(const cJSON *status, FILE *out);
/* Prints the status as one line, where --host gives many boxes. */
void screen_print_brief(const cJSON *status, FILE *out);
/* Returns the exit code for the state of the box, for scripts: CLI_OK, CLI_DEGRADED, CLI_FAILED or
 * CLI_IDLE. */
int screen_exit_code(const cJSON *status);
/* The exit codes of screen_exit_code() except CLI_OK, for the rows of verbs. */
extern const struct verb_exit screen_exits[];

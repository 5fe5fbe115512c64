/* SPDX-License-Identifier: Apache-2.0 */
/* The status object of a box (method "status") on a terminal, for `kiln status` and `kiln watch`. */
#pragma once

#include "cli/base/verb.h"

#include <stdio.h>

/* Prints the whole screen. */
void screen_print(const cJSON *status, FILE *out);
/* Prints one line, for a screen of many boxes. */
void screen_print_brief(const cJSON *status, FILE *out);
/* Exit code for the state of the box: CLI_OK, CLI_DEGRADED, CLI_FAILED or CLI_IDLE. */
int screen_exit_code(const cJSON *status);
/* The codes beyond CLI_OK, for the rows of verbs. */
extern const struct verb_exit screen_exits[];

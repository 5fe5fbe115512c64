/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs that ask a box: parameters from the arguments, one call, its result. */
#pragma once

#include "cli/base/arguments.h"
#include "cli/client/client.h"

/* --json, for the row of every verb that prints a result by call_run(). */
extern const struct verb_option call_options[];

/* Makes the parameters of a method from the options of the same names and, for the row's `positional`, from
 * the operand. The caller owns *ret_params. Returns CLI_OK, or CLI_USAGE after a sentence. */
MUST_CHECK int call_params(const struct arguments *arguments, const char *method, cJSON **ret_params);

/* Calls a method. Prints its result as JSON with --json, else by `print`, which returns the exit code.
 * Returns the exit code. */
int call_run(const struct arguments *arguments, const char *method, int (*print)(const cJSON *result));

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs that call a box: make the parameters from the arguments, call the method, print the
 * result. */
#pragma once

#include "cli/base/arguments.h"
#include "cli/client/client.h"

/* The option --json. The row of every verb that uses call_run() has this list. */
extern const struct verb_option call_options[];

/* Makes the parameters of a method: each from the option of the same name, and the parameter `positional` of
 * the verb's row from the operand. The caller owns *ret_params. Returns CLI_OK, or CLI_USAGE after printing a
 * sentence. */
MUST_CHECK int call_params(const struct arguments *arguments, const char *method, cJSON **ret_params);

/* Calls a method and prints the result: with --json as JSON, otherwise by print(). Returns the exit code,
 * which is that of print() where print() was called. */
int call_run(const struct arguments *arguments, const char *method, int (*print)(const cJSON *result));

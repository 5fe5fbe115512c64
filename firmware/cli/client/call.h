/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that ask a box have in common: arguments by a method's row, one call, its result. */
#pragma once

#include "cli/client/client.h"

/* A verb's arguments by its method's row: "--NAME VALUE", "--NAME" for a boolean, the value of `positional`
 * (NULL = none) alone. --json, where `ret_json` is not NULL, and --help are taken besides. CLI_OK: go on; -1:
 * --help was answered; CLI_USAGE: it was said what is wrong. */
int client_arguments(int argc, char **argv, const char *method, const char *positional, cJSON **ret_params,
		     bool *ret_json);
/* Take it out of the arguments, wherever it is: whether it was there. */
bool client_flag(int *argc, char **argv, const char *flag);
/* A whole verb: client_arguments with --json, client_ask, and the result as JSON or by `print`. Gives the
 * exit code, which else is print's. */
int client_verb(int argc, char **argv, const char *method, const char *positional,
		int (*print)(const cJSON *result));

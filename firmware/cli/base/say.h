/* SPDX-License-Identifier: Apache-2.0 */
/* Output that all verbs share: errors and wrong usage go to standard error, JSON goes to standard output. */
#pragma once

#include "cli/base/exit.h"
#include "core/base/json.h"

/* Prints the error's sentence. Returns CLI_ERROR. */
int cli_error(const struct error *err);
/* Prints "kiln VERB: TEXT" and how to get help. Returns CLI_USAGE. */
int cli_usage(const char *verb, const char *format, ...) PRINTF(2, 3);
/* Prints JSON as one line to standard output. Returns CLI_OK or CLI_ERROR. */
int cli_print_json_line(const cJSON *json);
/* Prints indented JSON to standard output. Returns CLI_OK or CLI_ERROR. */
int cli_print_json(const cJSON *json);

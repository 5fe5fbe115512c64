/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control client (drivers/control/client.h), connected to the box that the user chose, with errors as
 * exit codes. Threads: none; it runs in the caller's thread. Owns: the caller owns the client until
 * client_closep(). Crash: nothing is stored; kiln-controld drops the connection.
 */
#pragma once

#include "drivers/control/client.h"

/* Connects to the box that client_used() returns. Errors: -errno of the connection; the text tells the user
 * what to do. */
MUST_CHECK int client_open(struct client **ret_client, struct error *err);

/* Prints the error's sentence. Returns CLI_ERROR, or CLI_NO_HOST where a box of --host did not answer. */
int client_error(const struct error *err);

/* Makes one call on a connection of its own: client_open(), client_call(), client_closep(). */
MUST_CHECK int client_ask(const char *method, cJSON *params, cJSON **ret_result, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* The control client (drivers/control/client.h) for the box that the user named, and for the exit code. */
#pragma once

#include "drivers/control/client.h"

/* Connects to the box of client_used(). Errors: -errno of the connection, with what to do about it. */
MUST_CHECK int client_open(struct client **ret_client, struct error *err);

/* Prints the sentence. Returns CLI_ERROR, or CLI_NO_HOST where another box did not answer. */
int client_error(const struct error *err);

/* client_open(), one client_call(), client_closep(). */
MUST_CHECK int client_ask(const char *method, cJSON *params, cJSON **ret_result, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the control protocol (core/control/control.h): one connection to a kiln-controld, this
 * box's by its socket, another's by mutual TLS. Order: client_open -> client_call* -> (client_event*) ->
 * client_closep. Everything waits, with a time-out.
 */
#pragma once

#include "core/control/control.h"

struct client;

/* Errors: -errno of the connection, with what to do about it. */
MUST_CHECK int client_open(struct client **ret_client, struct error *err);
void client_closep(struct client **client);

/* Ask and wait for the answer. `params` is consumed, NULL = none. *ret_result is the caller's.
 * Errors: -EREMOTEIO the box refused, its own sentence in err; else -errno. */
MUST_CHECK int client_call(struct client *client, const char *method, cJSON *params, cJSON **ret_result,
			   struct error *err);
/* The next line of a subscriber, however long it takes: the event's params. */
MUST_CHECK int client_event(struct client *client, cJSON **ret_params, struct error *err);

/* Print the sentence; gives CLI_ERROR, or CLI_NO_HOST where another box did not answer. */
int client_error(const struct error *err);

/* client_open, one client_call, client_closep. */
MUST_CHECK int client_ask(const char *method, cJSON *params, cJSON **ret_result, struct error *err);

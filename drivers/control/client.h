/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the control protocol (core/control/control.h): one connection to one kiln-controld,
 * to this box's by its socket, to another box's by mutual TLS. Order: client_open_box -> client_call* ->
 * (client_event*) -> client_closep.
 *
 * Threads: none of its own; one caller at a time. Every call but client_event() is bounded by a time-out.
 * Crash: kiln-controld drops the connection; what it was asked before is done or not, and may be asked again.
 */
#pragma once

#include "core/control/control.h"

struct client;

/* Another box: the DNS name in its certificate, and where to connect to. */
struct client_box {
	const char *name, *address, *port;
};

/* Connects; `box` NULL = this box. The identity for another box is ca.crt, client.crt and client.key in
 * KILN_PKI, else in ~/.kiln. Errors: -errno of the connection, with what to do about it. */
MUST_CHECK int client_open_box(const struct client_box *box, struct client **ret_client, struct error *err);
void client_closep(struct client **client);

/* Asks and waits for the answer. `params` is consumed, NULL = none. The caller frees *ret_result.
 * Errors: -EREMOTEIO the box refused, its own sentence is in err; else -errno. */
MUST_CHECK int client_call(struct client *client, const char *method, cJSON *params, cJSON **ret_result,
			   struct error *err);
/* Waits for the next line of events.subscribe, for ever. The caller frees *ret_params. */
MUST_CHECK int client_event(struct client *client, cJSON **ret_params, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the control protocol (core/control/control.h): a connection to one kiln-controld, on
 * this box over its socket, or on another box over mutual TLS. Order: client_open_box -> client_call* ->
 * (client_event*) -> client_closep.
 *
 * Threads: none of its own; one caller at a time. Every call but client_event() is bounded by a time-out.
 * Crash: kiln-controld drops the connection; a call that was not answered may have been carried out or not,
 * and may be repeated.
 */
#pragma once

#include "core/control/control.h"

struct client;

/* Paths of the files by which a client proves who it is, and of the authority that it trusts. */
struct client_identity {
	const char *ca, *cert, *key;
};

/* Another box: the DNS name in its certificate, and where to connect to. */
struct client_box {
	const char *name, *address, *port;
	const struct client_identity
		*as; /* NULL = ca.crt, client.crt and client.key in KILN_PKI, else in ~/.kiln */
};

/* Connects to `box`, NULL = this box. Errors: -errno of the connection; the text says what the user can do.
 */
MUST_CHECK int client_open_box(const struct client_box *box, struct client **ret_client, struct error *err);
void client_closep(struct client **client);

/* Sends a request and waits for its result. Frees `params`; NULL = no parameters. The caller frees
 * *ret_result. Errors: with the box's own sentence in err -EINVAL a configuration has mistakes, -EREMOTEIO
 * the box refused for another reason; else -errno. */
MUST_CHECK int client_call(struct client *client, const char *method, cJSON *params, cJSON **ret_result,
			   struct error *err);
/* Waits for the next event, after a call of events.subscribe, without a time limit. The caller frees
 * *ret_params. */
MUST_CHECK int client_event(struct client *client, cJSON **ret_params, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* The box that the client connects to: this box, or another box by name and address. There is one per
 * process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Another box: `name` is the DNS name in the box's certificate. */
struct client_host {
	char name[64], address[256], port[6];
	bool one_of_many; /* other processes call other boxes at the same time, so print short answers */
};

/* Parses "NAME=ADDRESS", "NAME=ADDRESS:PORT" or "NAME=[ADDRESS]:PORT". An address with several colons and
 * without brackets is an IPv6 address without a port. Returns false where the text has another form. */
bool host_parse(const char *text, size_t length, struct client_host *ret_host);

/* Makes every later client_open() connect to `host`; NULL: to this box. Owns: the caller keeps `host`
 * valid. */
void client_use(const struct client_host *host);
/* Returns the box that client_open() connects to; NULL where it is this box. */
const struct client_host *client_used(void);
/* Returns true where --host gives several boxes, and this process calls one of them. */
bool client_one_of_many(void);

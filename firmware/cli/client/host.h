/* SPDX-License-Identifier: Apache-2.0 */
/* The box that the client asks: this one, or another by name and address. There is one per process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Another box: the DNS name in its certificate, and where it is. */
struct client_host {
	char name[64], address[256], port[6];
	bool one_of_many; /* other processes ask other boxes at the same time: answers are to be short */
};

/* Parses "NAME=ADDRESS", "NAME=ADDRESS:PORT" or "NAME=[ADDRESS]:PORT". An address with several colons and no
 * brackets has no port. Returns false where the text is none of these. */
bool host_parse(const char *text, size_t length, struct client_host *ret_host);

/* Every client_open() from now on connects to `host`, which the caller owns. NULL: this box. */
void client_use(const struct client_host *host);
/* Returns the box that client_open() connects to; NULL: this box. */
const struct client_host *client_used(void);
/* True where this process asks one box of many. */
bool client_one_of_many(void);

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/host.h"

#include <stdio.h>
#include <string.h>

static const struct client_host *host_asked;

void client_use(const struct client_host *host)
{
	host_asked = host;
}

const struct client_host *client_used(void)
{
	return host_asked;
}

bool client_one_of_many(void)
{
	return host_asked && host_asked->one_of_many;
}

bool host_parse(const char *text, size_t length, struct client_host *ret_host)
{
	char item[384], *address, *port = NULL, *end;

	if (length >= sizeof(item))
		return false;
	memcpy(item, text, length);
	item[length] = '\0';
	address = strchr(item, '=');
	if (!address || address == item || !address[1])
		return false;
	*address++ = '\0';
	if (*address == '[' && (end = strchr(address, ']'))) {
		address++;
		*end = '\0';
		port = end[1] == ':' ? end + 2 : NULL;
	} else if ((end = strchr(address, ':')) && end == strrchr(address, ':')) {
		*end = '\0';
		port = end + 1;
	}
	*ret_host = (struct client_host){ .port = "7443" };
	return snprintf(ret_host->name, sizeof(ret_host->name), "%s", item) < (int)sizeof(ret_host->name) &&
	       snprintf(ret_host->address, sizeof(ret_host->address), "%s", address) <
		       (int)sizeof(ret_host->address) &&
	       (!port ||
		(*port && strspn(port, "0123456789") == strlen(port) &&
		 snprintf(ret_host->port, sizeof(ret_host->port), "%s", port) < (int)sizeof(ret_host->port)));
}

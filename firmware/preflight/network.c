/* SPDX-License-Identifier: Apache-2.0 */
/* The network between the boxes that train together: ranks.network. */
#include "drivers/wireguard/own.h"
#include "preflight/preflight.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#define PART "network"

static void close_list(struct ifaddrs **list)
{
	if (*list)
		freeifaddrs(*list);
}

/* Tells whether an interface of this box that is up has an address in the network. */
static bool has_address(const struct cidr *network)
{
	CLEANUP(close_list) struct ifaddrs *list = NULL;

	if (getifaddrs(&list) < 0)
		return false;
	for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
		struct sockaddr_in address;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&address, at->ifa_addr, sizeof(address));
		if (cidr_has(network, ntohl(address.sin_addr.s_addr)))
			return true;
	}
	return false;
}

static void check_trusted(struct preflight *preflight, bool here)
{
	const char *network = preflight->config->ranks.network;

	if (here)
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "ranks speak unencrypted over the trusted network %s: everybody on it can read "
			      "and change the weights",
			      network);
	else
		preflight_add(preflight, PART, PREFLIGHT_FAILED,
			      "correct ranks.network, or give an interface of this box an address in it",
			      "this box has no address in the trusted network %s", network);
}

static void check_encrypted(struct preflight *preflight, bool here)
{
	const char *network = preflight->config->ranks.network;
	CLEANUP(own_done) struct own own = { 0 };
	struct error err = { 0 };
	const int r = own_load(preflight->config, &own, &err);

	if (r == -EACCES)
		preflight_add(preflight, PART, PREFLIGHT_NOT_SEEN, "call kiln check as root", "%s", err.text);
	else if (r < 0)
		preflight_add(preflight, PART, PREFLIGHT_FAILED,
			      "copy the key and the list of boxes to this box: kiln pki network --help", "%s",
			      err.text);
	else if (!here)
		preflight_add(
			preflight, PART, PREFLIGHT_FAILED,
			"call systemctl restart kiln-network systemd-networkd, or restart the box",
			"the key and the list of boxes are good, but no interface has an address in the "
			"WireGuard network %s",
			network);
	else
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "this box is %s, one of %u boxes in the WireGuard network %s", own.box->name,
			      own.peers.count, network);
}

void preflight_network(struct preflight *preflight)
{
	struct cidr network;

	if (!cidr_parse(preflight->config->ranks.network, &network))
		return;
	if (own_is_needed(preflight->config))
		check_encrypted(preflight, has_address(&network));
	else
		check_trusted(preflight, has_address(&network));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/cidr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_MAX 30u /* longer ones have no two hosts beside the network's and the broadcast address */

static uint32_t mask_of(unsigned prefix)
{
	return UINT32_MAX << (32 - prefix);
}

bool cidr_parse_address(const char *text, uint32_t *ret)
{
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1)
		return false;
	*ret = ntohl(address.s_addr);
	return true;
}

/* Parses 1 .. PREFIX_MAX without a sign and without a leading zero; returns 0 for any other text. */
static unsigned parse_prefix(const char *text)
{
	const size_t digits = strspn(text, "0123456789");
	unsigned long prefix;

	if (digits < 1 || digits > 2 || text[digits] || *text == '0')
		return 0;
	prefix = strtoul(text, NULL, 10);
	return prefix <= PREFIX_MAX ? (unsigned)prefix : 0;
}

bool cidr_parse(const char *text, struct cidr *ret)
{
	const size_t bytes = strcspn(text, "/");
	char address[CIDR_TEXT_BYTES];
	struct cidr cidr;

	if (bytes >= sizeof(address) || !text[bytes])
		return false;
	(void)snprintf(address, sizeof(address), "%.*s", (int)bytes, text);
	cidr.prefix = parse_prefix(text + bytes + 1);
	if (cidr.prefix == 0 || !cidr_parse_address(address, &cidr.network) ||
	    (cidr.network & ~mask_of(cidr.prefix)) != 0)
		return false;
	*ret = cidr;
	return true;
}

uint32_t cidr_hosts(const struct cidr *cidr)
{
	return ~mask_of(cidr->prefix) - 1;
}

bool cidr_has(const struct cidr *cidr, uint32_t address)
{
	const uint32_t host = address & ~mask_of(cidr->prefix);

	return (address & mask_of(cidr->prefix)) == cidr->network && host >= 1 && host <= cidr_hosts(cidr);
}

char *cidr_address(uint32_t address, char out[static CIDR_TEXT_BYTES])
{
	const struct in_addr in = { .s_addr = htonl(address) };

	(void)inet_ntop(AF_INET, &in, out, CIDR_TEXT_BYTES);
	return out;
}

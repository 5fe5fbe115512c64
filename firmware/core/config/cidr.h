/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.network: a network of IPv4 in CIDR form, such as "10.7.0.0/24". Pure functions. Addresses are numbers
 * in the byte order of the host: 10.7.0.1 is 0x0a070001. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CIDR_ALLOWED    "an IPv4 network such as \"10.7.0.0/24\", prefix 1 .. 30, no bits set after the prefix"
#define CIDR_TEXT_BYTES 16u /* longest address as text, with its NUL */

struct cidr {
	uint32_t network; /* first address of the network, which no host has */
	unsigned prefix;  /* 1 .. 30 bits */
};

/* Parses a network. Returns false for a text of another form; *ret is then unchanged. */
bool cidr_parse(const char *text, struct cidr *ret);
/* Parses one address, "10.7.0.1". Returns false for a text of another form; *ret is then unchanged. */
bool cidr_parse_address(const char *text, uint32_t *ret);
/* Returns how many hosts a network has: the first and the last address (broadcast) belong to no host. */
uint32_t cidr_hosts(const struct cidr *cidr);
/* Tells whether a host of the network may have this address. */
bool cidr_has(const struct cidr *cidr, uint32_t address);
/* Writes an address as text; returns out. */
char *cidr_address(uint32_t address, char out[static CIDR_TEXT_BYTES]);

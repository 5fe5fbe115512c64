/* SPDX-License-Identifier: Apache-2.0 */
/* Hash functions for orders, splits and tables in memory. Equal on each machine, and not against an attacker.
 */
#pragma once

#include <stdint.h>

/* SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit. */
static inline uint64_t mix64(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* FNV-1a over the bytes, then mix64(): texts that differ in one digit differ in FNV's low bits alone. */
static inline uint64_t mix_bytes(const char *data, uint64_t bytes)
{
	uint64_t x = UINT64_C(0xcbf29ce484222325);

	for (uint64_t i = 0; i < bytes; i++)
		x = (x ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
	return mix64(x);
}

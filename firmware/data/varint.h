/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf's integers of variable length: seven bits a byte, the lowest first, the top bit set in
 * every byte but the last. Source: protobuf.dev/programming-guides/encoding. */
#pragma once

#include <stdint.h>

#define VARINT_BYTES_MAX 10u

/* Returns how many bytes were written. */
static inline uint32_t varint_write(uint8_t out[static VARINT_BYTES_MAX], uint64_t value)
{
	uint32_t used = 0;

	while (value >= 0x80) {
		out[used++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[used++] = (uint8_t)value;
	return used;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf's integers of variable length: seven bits per byte, the lowest bits first; every byte but
 * the last has its top bit set. Source: protobuf.dev/programming-guides/encoding.
 */
#pragma once

#include <stdint.h>

#define VARINT_BYTES_MAX 10u

/* Writes a value. Returns the number of bytes. */
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

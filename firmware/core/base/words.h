/* SPDX-License-Identifier: Apache-2.0 */
/* Words of memory at any address, in the byte order of the machine. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t load32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t load64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "data/crc32c.h"

#include <stdbool.h>
#include <string.h>
#include <threads.h>

#define POLYNOMIAL   UINT32_C(0x82f63b78)
#define STREAM_BYTES 256u /* one stream's share of a block of three */
/* How far ahead memory is asked for. tests/bench/decode.c here: 0.58 of memcpy without, 0.67 at 1024, 0.78 at
 * 2048, 0.82 at 3072; 4096 and 6144 add nothing. */
#define AHEAD_BYTES 3072u

static uint32_t table[8][256]; /* slicing by 8 */
/* A CRC moved over STREAM_BYTES, and over twice as many, zero bytes: one row for each of its four bytes. */
static uint32_t skip[2][4][256];
static uint32_t (*fastest)(uint32_t crc, const void *data, uint64_t bytes);
static once_flag ready = ONCE_FLAG_INIT;

static uint32_t by_zero_bytes(uint32_t crc, unsigned bytes)
{
	while (bytes--)
		crc = table[0][crc & 0xff] ^ (crc >> 8);
	return crc;
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint32_t by_tables(uint32_t crc, const void *data, uint64_t bytes)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint32_t low = crc ^ load32(p), high = load32(p + 4);

		crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^
		      table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][(high >> 8) & 0xff] ^
		      table[1][(high >> 16) & 0xff] ^ table[0][high >> 24];
	}
	while (bytes--)
		crc = table[0][(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return ~crc;
}

#if defined(__x86_64__)
#define HARDWARE         __attribute__((target("sse4.2")))
#define CRC8(crc, value) ((uint32_t)__builtin_ia32_crc32di(crc, value))
#define CRC1(crc, value) __builtin_ia32_crc32qi(crc, value)
static bool have_hardware(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define HARDWARE         __attribute__((target("+crc")))
#define CRC8(crc, value) __builtin_aarch64_crc32cx(crc, value)
#define CRC1(crc, value) __builtin_aarch64_crc32cb(crc, value)
static bool have_hardware(void)
{
	return getauxval(AT_HWCAP) & (1u << 7); /* HWCAP_CRC32 */
}
#endif

#ifdef HARDWARE
static uint32_t skip_bytes(unsigned far, uint32_t crc)
{
	return skip[far][0][crc & 0xff] ^ skip[far][1][(crc >> 8) & 0xff] ^ skip[far][2][(crc >> 16) & 0xff] ^
	       skip[far][3][crc >> 24];
}

HARDWARE static uint32_t by_hardware(uint32_t crc, const void *data, uint64_t bytes)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (; bytes >= 3 * STREAM_BYTES; bytes -= 3 * STREAM_BYTES, p += 3 * STREAM_BYTES) {
		uint32_t b = 0, c = 0;

		for (unsigned i = 0; i < STREAM_BYTES; i += 8) {
			if (i % 64 == 0)
				for (unsigned stream = 0; stream < 3; stream++)
					__builtin_prefetch(p + stream * STREAM_BYTES + i + AHEAD_BYTES);
			crc = CRC8(crc, load64(p + i));
			b = CRC8(b, load64(p + STREAM_BYTES + i));
			c = CRC8(c, load64(p + 2 * STREAM_BYTES + i));
		}
		crc = skip_bytes(1, crc) ^ skip_bytes(0, b) ^ c;
	}
	for (; bytes >= 8; bytes -= 8, p += 8)
		crc = CRC8(crc, load64(p));
	while (bytes--)
		crc = CRC1(crc, *p++);
	return ~crc;
}
#endif

static void get_ready(void)
{
	for (uint32_t n = 0; n < 256; n++) {
		uint32_t crc = n;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
		table[0][n] = crc;
	}
	for (uint32_t n = 0; n < 256; n++)
		for (int k = 1; k < 8; k++)
			table[k][n] = table[0][table[k - 1][n] & 0xff] ^ (table[k - 1][n] >> 8);
	for (unsigned far = 0; far < 2; far++)
		for (unsigned byte = 0; byte < 4; byte++)
			for (uint32_t n = 0; n < 256; n++)
				skip[far][byte][n] = by_zero_bytes(n << (8 * byte), STREAM_BYTES * (far + 1));
	fastest = by_tables;
#ifdef HARDWARE
	if (have_hardware())
		fastest = by_hardware;
#endif
}

uint32_t crc32c(uint32_t crc, const void *data, uint64_t bytes)
{
	call_once(&ready, get_ready);
	return fastest(crc, data, bytes);
}

uint32_t crc32c_portable(uint32_t crc, const void *data, uint64_t bytes)
{
	call_once(&ready, get_ready);
	return by_tables(crc, data, bytes);
}

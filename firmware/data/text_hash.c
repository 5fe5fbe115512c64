/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_hash.h"

#include "core/base/words.h"

#include <assert.h>
#include <string.h>

/* Primes between 2^63 and 2^64, of FarmHash. */
#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "both hashes read little-endian words");

static uint64_t right(uint64_t x, unsigned bits)
{
	return x >> bits | x << (64 - bits);
}

static uint64_t left(uint64_t x, unsigned bits)
{
	return right(x, 64 - bits);
}

/* ---- FarmHash ---- */

static uint64_t fold(uint64_t x)
{
	return x ^ x >> 47;
}

static uint64_t join(uint64_t u, uint64_t v, uint64_t multiplier)
{
	return fold((v ^ fold((u ^ v) * multiplier)) * multiplier) * multiplier;
}

static uint64_t up_to_16(const uint8_t *s, uint64_t n)
{
	const uint64_t m = K2 + n * 2;

	if (n >= 8) {
		const uint64_t a = load64(s) + K2, b = load64(s + n - 8);

		return join(right(b, 37) * m + a, (right(a, 25) + b) * m, m);
	}
	if (n >= 4)
		return join(n + ((uint64_t)load32(s) << 3), load32(s + n - 4), m);
	if (n == 0)
		return K2;
	return fold((s[0] + ((uint64_t)s[n / 2] << 8)) * K2 ^ (n + ((uint64_t)s[n - 1] << 2)) * K0) * K2;
}

static uint64_t up_to_32(const uint8_t *s, uint64_t n)
{
	const uint64_t m = K2 + n * 2, a = load64(s) * K1, b = load64(s + 8), c = load64(s + n - 8) * m,
		       d = load64(s + n - 16) * K2;

	return join(right(a + b, 43) + right(c, 30) + d, a + right(b + K2, 18) + c, m);
}

static uint64_t up_to_64(const uint8_t *s, uint64_t n)
{
	const uint64_t m = K2 + n * 2, a = load64(s) * K2, b = load64(s + 8), c = load64(s + n - 8) * m,
		       d = load64(s + n - 16) * K2, y = right(a + b, 43) + right(c, 30) + d,
		       z = join(y, a + right(b + K2, 18) + c, m), e = load64(s + 16) * m, f = load64(s + 24),
		       g = (y + load64(s + n - 32)) * m, h = (z + load64(s + n - 24)) * m;

	return join(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, m);
}

struct pair {
	uint64_t first, second;
};

/* Mixes 32 bytes into two seeds. */
static struct pair mix(const uint8_t *s, uint64_t a, uint64_t b)
{
	const uint64_t first = a + load64(s), sum = first + load64(s + 8) + load64(s + 16);

	return (struct pair){ sum + load64(s + 24),
			      right(b + first + load64(s + 24), 21) + right(sum, 44) + first };
}

struct state {
	uint64_t x, y, z;
	struct pair v, w;
};

/* One round over 64 bytes. `by` and `weight` differ in the last round. */
static void turn(struct state *at, const uint8_t *s, uint64_t by, uint64_t weight)
{
	uint64_t x;

	at->x = right(at->x + at->y + at->v.first + load64(s + 8), 37) * by;
	at->y = right(at->y + at->v.second + load64(s + 48), 42) * by;
	at->x ^= at->w.second * weight;
	at->y += at->v.first * weight + load64(s + 40);
	at->z = right(at->z + at->w.first, 33) * by;
	at->v = mix(s, at->v.second * by, at->x + at->w.first);
	at->w = mix(s + 32, at->z + at->w.second, at->y + load64(s + 16));
	x = at->x;
	at->x = at->z;
	at->z = x;
}

static uint64_t beyond_64(const uint8_t *s, uint64_t n)
{
	const uint64_t seed = 81, rest = (n - 1) % 64;
	const uint8_t *end = s + (n - 1) / 64 * 64;
	struct state at = { .x = seed * K2 + load64(s), .y = seed * K1 + 113 };
	uint64_t m;

	at.z = fold(at.y * K2 + 113) * K2;
	for (; s != end; s += 64)
		turn(&at, s, K1, 1);
	/* The last 64 bytes, some of which the loop has mixed already. */
	m = K1 + ((at.z & 0xff) << 1);
	at.w.first += rest;
	at.v.first += at.w.first;
	at.w.first += at.v.first;
	turn(&at, end + rest - 63, m, 9);
	return join(join(at.v.first, at.w.first, m) + fold(at.y) * K0 + at.z,
		    join(at.v.second, at.w.second, m) + at.x, m);
}

uint64_t text_fingerprint(const void *text, uint64_t bytes)
{
	if (bytes <= 16)
		return up_to_16(text, bytes);
	if (bytes <= 32)
		return up_to_32(text, bytes);
	return bytes <= 64 ? up_to_64(text, bytes) : beyond_64(text, bytes);
}

/* ---- SipHash-2-4 ---- */

static void rounds(uint64_t v[4], unsigned count)
{
	while (count-- > 0) {
		v[0] += v[1];
		v[1] = left(v[1], 13) ^ v[0];
		v[0] = left(v[0], 32);
		v[2] += v[3];
		v[3] = left(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = left(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = left(v[1], 17) ^ v[2];
		v[2] = left(v[2], 32);
	}
}

static void absorb(uint64_t v[4], uint64_t message)
{
	v[3] ^= message;
	rounds(v, 2);
	v[0] ^= message;
}

uint64_t text_siphash(uint64_t key_0, uint64_t key_1, const void *text, uint64_t bytes)
{
	uint64_t v[4] = { key_0 ^ UINT64_C(0x736f6d6570736575), key_1 ^ UINT64_C(0x646f72616e646f6d),
			  key_0 ^ UINT64_C(0x6c7967656e657261), key_1 ^ UINT64_C(0x7465646279746573) };
	const uint8_t *s = text;
	uint64_t last = 0, at = 0;

	for (; bytes - at >= 8; at += 8)
		absorb(v, load64(s + at));
	memcpy(&last, s + at, bytes - at);
	absorb(v, last | bytes << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10, for one counter and for 16 at once; model/random.h says what is counted. Integer: no tolerance, tested
 * against random.c bit for bit.
 */

/* The low halves of the products for themselves: of 16 at once that takes one instruction, not eight. */
#define PHILOX(name, uint_type, ulong_type, to_ulong, to_uint)                                     \
	void name(uint_type c0, uint_type c1, uint_type c2, uint_type c3, uint key_low, uint key_high, uint_type *words) \
	{                                                                                          \
		for (int round = 0; round < 10; round++) {                                         \
			const uint_type a = to_uint(to_ulong(c0) * (ulong)0xD2511F53u >> 32);      \
			const uint_type b = to_uint(to_ulong(c2) * (ulong)0xCD9E8D57u >> 32);      \
			const uint_type low_a = c0 * 0xD2511F53u, low_b = c2 * 0xCD9E8D57u;        \
                                                                                                   \
			c0 = b ^ c1 ^ key_low;                                                     \
			c2 = a ^ c3 ^ key_high;                                                    \
			c1 = low_b;                                                                \
			c3 = low_a;                                                                \
			key_low += 0x9E3779B9u;                                                    \
			key_high += 0xBB67AE85u;                                                   \
		}                                                                                  \
		words[0] = c0;                                                                     \
		words[1] = c1;                                                                     \
		words[2] = c2;                                                                     \
		words[3] = c3;                                                                     \
	}

PHILOX(philox1, uint, ulong, convert_ulong, convert_uint)
PHILOX(philox16, uint16, ulong16, convert_ulong16, convert_uint16)

/* Is column c of the row kept? */
bool dropout_keeps(uint c, uint row, uint step, uint layer, uint key_low, uint key_high, uint threshold)
{
	uint words[4];

	philox1(c / 64 * 16 + c % 16, row, step, layer, key_low, key_high, words);
	return words[c / 16 % 4] >= threshold;
}

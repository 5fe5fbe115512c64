/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10: model/graph/random.h describes the counters. The numbers are integers: a test compares them with those
 * of random.c, bit for bit. */

/* Macros for a counter `s`, or for 16 counters at once as vectors: COUNTER sets it up, ROUND is one round, WORDS writes
 * the result. The low halves of the products are computed separately from the high halves: with vectors of 16 that is
 * one instruction instead of eight. */
#define COUNTER(s, uint_type) uint_type c0##s = column, c1##s = row + s, c2##s = step, c3##s = layer;
#define ROUND(s, uint_type, to_ulong, to_uint)                                             \
	{                                                                                  \
		const uint_type a = to_uint(to_ulong(c0##s) * (ulong)0xD2511F53u >> 32);   \
		const uint_type b = to_uint(to_ulong(c2##s) * (ulong)0xCD9E8D57u >> 32);   \
		const uint_type low_a = c0##s * 0xD2511F53u, low_b = c2##s * 0xCD9E8D57u;  \
                                                                                           \
		c0##s = b ^ c1##s ^ key_low;                                               \
		c2##s = a ^ c3##s ^ key_high;                                              \
		c1##s = low_b;                                                             \
		c3##s = low_a;                                                             \
	}
#define WORDS(s) words[4 * s] = c0##s, words[4 * s + 1] = c1##s, words[4 * s + 2] = c2##s, words[4 * s + 3] = c3##s;
#define NEXT_KEY key_low += 0x9E3779B9u, key_high += 0xBB67AE85u;

void philox1(uint column, uint row, uint step, uint layer, uint key_low, uint key_high, uint *words)
{
	COUNTER(0, uint)
	for (int round = 0; round < 10; round++) {
		ROUND(0, uint, convert_ulong, convert_uint)
		NEXT_KEY
	}
	WORDS(0)
}

/* Computes 16 columns of two rows, 4 words each. Two rows at once keep the CPU busy: it uses the products of one row
 * while it computes those of the other. */
#define PHILOX_ROWS 2
void philox16(uint16 column, uint row, uint step, uint layer, uint key_low, uint key_high, uint16 *words)
{
	COUNTER(0, uint16)
	COUNTER(1, uint16)
	for (int round = 0; round < 10; round++) {
		ROUND(0, uint16, convert_ulong16, convert_uint16)
		ROUND(1, uint16, convert_ulong16, convert_uint16)
		NEXT_KEY
	}
	WORDS(0)
	WORDS(1)
}

/* Computes 16 columns of one row, 4 words each. */
void philox_lanes(uint16 column, uint row, uint step, uint layer, uint key_low, uint key_high, uint16 *words)
{
	COUNTER(0, uint16)
	for (int round = 0; round < 10; round++) {
		ROUND(0, uint16, convert_ulong16, convert_uint16)
		NEXT_KEY
	}
	WORDS(0)
}

/* Returns whether dropout keeps column c of the row. */
bool dropout_keeps(uint c, uint row, uint step, uint layer, uint key_low, uint key_high, uint threshold)
{
	uint words[4];

	philox1(c / 64 * 16 + c % 16, row, step, layer, key_low, key_high, words);
	/* An index that is not a constant would put the words into memory. */
	return (c & 32 ? c & 16 ? words[3] : words[2] : c & 16 ? words[1] : words[0]) >= threshold;
}

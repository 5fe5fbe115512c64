/* SPDX-License-Identifier: Apache-2.0 */
#include "data/hold_out.h"

uint64_t hold_out_last(uint64_t shards, uint64_t percent)
{
	uint64_t count = (shards * percent + 50) / 100;

	if (count == 0 && percent > 0 && shards > 1)
		count = 1;
	return count < shards ? count : shards > 0 ? shards - 1 : 0;
}

/* FNV-1a over the bytes, then the finaliser of SplitMix64 (Steele, Lea, Flood 2014): keys that differ in one
 * digit differ in FNV's low bits, and the bound compares the high ones. */
uint64_t hold_out_hash(const char *key)
{
	uint64_t x = UINT64_C(0xcbf29ce484222325);

	for (; *key; key++)
		x = (x ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t hold_out_bound(const uint64_t *hash, uint64_t shards, uint64_t percent)
{
	const uint64_t bound = UINT64_MAX / 100 * percent;
	uint64_t least = UINT64_MAX, most = 0;

	if (shards < 2 || percent == 0)
		return 0;
	for (uint64_t i = 0; i < shards; i++) {
		least = hash[i] < least ? hash[i] : least;
		most = hash[i] > most ? hash[i] : most;
	}
	return most < bound ? most : least >= bound && least < most ? least + 1 : bound;
}

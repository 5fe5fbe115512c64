/* SPDX-License-Identifier: Apache-2.0 */
#include "data/hold_out.h"

#include "core/base/mix.h"

#include <string.h>

uint64_t hold_out_last(uint64_t shards, uint64_t percent)
{
	uint64_t count = (shards * percent + 50) / 100;

	if (count == 0 && percent > 0 && shards > 1)
		count = 1;
	return count < shards ? count : shards > 0 ? shards - 1 : 0;
}

uint64_t hold_out_hash(const char *key)
{
	return mix_bytes(key, strlen(key));
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

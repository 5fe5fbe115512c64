/* SPDX-License-Identifier: Apache-2.0 */
#include "model/random.h"

#include <math.h>
#include <string.h>

const char *const initializer_names[] = { "glorot_uniform", "zeros", 0 };

struct philox philox(const uint32_t counter[static 4], uint64_t key)
{
	struct philox c = { { counter[0], counter[1], counter[2], counter[3] } };
	uint32_t key_low = (uint32_t)key, key_high = (uint32_t)(key >> 32);

	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)c.word[0] * 0xD2511F53u, b = (uint64_t)c.word[2] * 0xCD9E8D57u;

		c = (struct philox){ { (uint32_t)(b >> 32) ^ c.word[1] ^ key_low, (uint32_t)b,
				       (uint32_t)(a >> 32) ^ c.word[3] ^ key_high, (uint32_t)a } };
		key_low += 0x9E3779B9u;
		key_high += 0xBB67AE85u;
	}
	return c;
}

uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

/* Keras's fans: the last dimension is out, all others multiply to in; one dimension is both. */
static double glorot_limit(uint32_t rank, const uint64_t *shape)
{
	double in = 1, out = rank ? (double)shape[rank - 1] : 1;

	for (uint32_t i = 0; i + 1 < rank; i++)
		in *= (double)shape[i];
	if (rank == 1)
		in = out;
	return sqrt(6.0 / (in + out));
}

void initializer_fill(const char *name, uint64_t seed, const char *tensor, uint32_t rank,
		      const uint64_t *shape, uint64_t count, float *out)
{
	const uint32_t hash = name_hash(tensor);
	const double limit = glorot_limit(rank, shape);

	if (!strcmp(name, "zeros")) {
		memset(out, 0, count * sizeof(*out));
		return;
	}
	for (uint64_t e = 0; e < count; e += 4) {
		const uint64_t block = e / 4;
		const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), UINT32_MAX, hash };
		const struct philox words = philox(counter, seed);

		for (uint64_t i = e; i < e + 4 && i < count; i++)
			out[i] = (float)((((double)(words.word[i - e] >> 8) * 0x1p-24) * 2 - 1) * limit);
	}
}

uint32_t dropout_threshold(double rate)
{
	return (uint32_t)(rate * 0x1p32);
}

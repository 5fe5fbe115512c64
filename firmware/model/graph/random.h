/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one source of chance: Philox4x32-10 (Salmon et al., SC 2011), counter-based, the same on host and
 * device.
 *
 * Initial values: number e of tensor NAME is word e % 4 of philox(counter = {low 32 bits of e / 4, high 32
 * bits, ~0, name_hash(NAME)}, key = seed), its 24 high bits as a fraction u in [0, 1); a normal one is made
 * of a pair of these words, and a truncated one of attempt k = 0, 1, ... with ~0 - k. Dropout: number c of
 * row r is word (c / 16) % 4 of philox(counter = {c / 64 * 16 + c % 16, r, step, name_hash(LAYER)}, key =
 * seed), kept where it is >= rate * 2^32; r is the row in the global order of the segment, low 32 bits, and
 * step the number of steps before this one.
 */
#pragma once

#include <stdint.h>

struct philox {
	uint32_t word[4];
};

struct philox philox(const uint32_t counter[static 4], uint64_t key);

/* FNV-1a, 32 bits. */
uint32_t name_hash(const char *name);

/* Keras's names, NULL-terminated. */
extern const char *const initializer_names[];
/* Fill `count` floats of a tensor of this shape; `name` is one of initializer_names. */
void initializer_fill(const char *name, uint64_t seed, const char *tensor, uint32_t rank,
		      const uint64_t *shape, uint64_t count, float *out);

/* Dropout keeps a number whose word is >= this. */
uint32_t dropout_threshold(double rate);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only source of random numbers: Philox4x32-10 (Salmon et al., SC 2011). It is a function of a counter
 * and a key, without state, so host and device make the same numbers, in any order and on any number of
 * threads.
 *
 * Initial values: number e of tensor NAME is word e % 4 of
 *   philox(counter = {low 32 bits of e / 4, high 32 bits of e / 4, ~0, name_hash(NAME)}, key = seed)
 * with its 24 high bits as a fraction u in [0, 1). A normal number is made of a pair of these words. A
 * truncated normal number is drawn again while it is out of bounds: attempt k = 0, 1, ... has ~0 - k
 * instead of ~0 in the counter.
 *
 * Dropout: number c of row r is word (c / 16) % 4 of
 *   philox(counter = {c / 64 * 16 + c % 16, r, step, name_hash(LAYER)}, key = seed)
 * and the number is dropped where the word is < rate * 2^32. r is the low 32 bits of the index of the row in
 * its segment, one pass over a split; step is the number of steps before this one.
 *
 * Dropout of multi_head_attention: the weight of query i and key j of head h is number c of the row, where
 * word and counter of c are j % 4 and (h * ceil(keys / 4) + j / 4) * queries + i.
 *
 * Augmentation of pictures: the draws of row r are the four words of
 *   philox(counter = {0, r, step, name_hash(LAYER)}, key = seed)
 * each with its 24 high bits as a fraction u in [0, 1). layers/augment.h says what a layer does with each.
 */
#pragma once

#include <stdint.h>

struct philox {
	uint32_t word[4];
};

struct philox philox(const uint32_t counter[static 4], uint64_t key);

/* Returns the 32-bit FNV-1a hash of a name. */
uint32_t name_hash(const char *name);

/* Names of initializers as in Keras, NULL-terminated. */
extern const char *const initializer_names[];
/* The initializer of lstm's bias with unit_forget_bias: the second quarter is ones, the rest zeros. */
#define INITIALIZER_FORGET "unit_forget"
/* Fills the `count` floats of a tensor of this shape; `name` is one of initializer_names, or
 * INITIALIZER_FORGET. */
void initializer_fill(const char *name, uint64_t seed, const char *tensor, uint32_t rank,
		      const uint64_t *shape, uint64_t count, float *out);

/* Returns the smallest word for which dropout keeps a number. */
uint32_t dropout_threshold(double rate);

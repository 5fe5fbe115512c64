/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/pieces.h"

#include <stdbool.h>

#define CHARACTER_BYTES 4u

static bool is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The sums of a word's beginnings, see data/tokenizer/names.h, and the powers of NAMES_BASE. */
struct sums {
	uint64_t sum[CHARACTER_BYTES * PIECES_WORD_MAX + 1], power[CHARACTER_BYTES * PIECES_WORD_MAX + 1];
};

/* False: the word has more characters than are allowed. */
static bool make_sums(const struct pieces *pieces, const char *word, uint64_t bytes, struct sums *sums)
{
	uint32_t characters = 0;

	if (bytes > (uint64_t)CHARACTER_BYTES * pieces->word_max)
		return false;
	sums->sum[0] = 0;
	sums->power[0] = 1;
	for (uint64_t i = 0; i < bytes; i++) {
		characters += !is_inside(word[i]);
		sums->sum[i + 1] = names_sum(sums->sum[i], word[i]);
		sums->power[i + 1] = sums->power[i] * NAMES_BASE;
	}
	return characters <= pieces->word_max;
}

/* Returns the longest piece that stands at `start`; NULL: none. */
static const struct name *longest(const struct names *names, const struct sums *sums, const char *word,
				  uint64_t start, uint64_t bytes)
{
	uint64_t end = bytes - start > names->longest ? start + names->longest : bytes;

	for (; end > start; end--) {
		const struct name *found;
		uint64_t sum;

		if (end < bytes && is_inside(word[end]))
			continue;
		sum = sums->sum[end] - sums->sum[start] * sums->power[end - start];
		found = names_find(names, names_hash(sum), word + start, end - start);
		if (found)
			return found;
	}
	return NULL;
}

uint32_t pieces_encode(const struct pieces *pieces, const char *word, uint64_t bytes, uint32_t *ret_ids)
{
	struct sums sums;
	uint64_t start = 0;
	uint32_t ids = 0;
	bool known = make_sums(pieces, word, bytes, &sums);

	while (known && start < bytes) {
		const struct name *piece =
			longest(start ? &pieces->later : &pieces->first, &sums, word, start, bytes);

		known = piece;
		if (known) {
			ret_ids[ids++] = piece->id;
			start += piece->bytes;
		}
	}
	if (known)
		return ids;
	ret_ids[0] = pieces->unknown;
	return 1;
}

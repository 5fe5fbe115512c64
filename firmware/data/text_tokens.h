/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits texts into words, and makes sets of features: 64-bit hashes of words and of runs of two and three
 * neighbouring words. Pure functions. For data/text*.c and data/vocabulary.c only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A word as it stands in the text. Compare words by text_lower() of their bytes. */
struct text_word {
	const char *text;
	uint64_t bytes;
};

/* Finds the next word from *at on and sets *at to its end; false at the end of the text. A word consists of
 * letters, digits and bytes beyond ASCII. A mark that carries mood or structure is a word; <br /> is none. */
bool text_next_word(const char *text, uint64_t bytes, uint64_t *at, struct text_word *ret_word);

/* Turns an ASCII capital into the small letter. */
char text_lower(char c);

/* Return the hash of a word, and of a run followed by another. */
uint64_t text_word_hash(const struct text_word *word);
uint64_t text_pair_hash(uint64_t first, uint64_t second);

/* Makes the sorted set of a text's features in malloc'ed memory. Returns their number, or -ENOMEM. */
int64_t text_features(const char *text, uint64_t bytes, uint64_t **ret);

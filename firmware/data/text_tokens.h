/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as words, and as sets of features: 64-bit hashes of words and of two and three neighbouring words.
 * For data/text*.c and data/vocabulary.c only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* As written in the text: compare words by text_lower() of their bytes. */
struct text_word {
	const char *text;
	uint64_t bytes;
};

/* The word at *at or behind it, which then is behind the word; false at the end. Letters, digits and bytes
 * beyond ASCII make words; marks that carry mood or structure are words of their own; <br /> is none. */
bool text_next_word(const char *text, uint64_t bytes, uint64_t *at, struct text_word *ret_word);

/* Upper case of ASCII to lower case. */
char text_lower(char c);

/* Of a word, and of something followed by something. */
uint64_t text_word_hash(const struct text_word *word);
uint64_t text_pair_hash(uint64_t first, uint64_t second);

/* The sorted set of a text's features, malloc'ed into *ret (NULL when there are none). Returns their number,
 * or -ENOMEM. */
int64_t text_features(const char *text, uint64_t bytes, uint64_t **ret);

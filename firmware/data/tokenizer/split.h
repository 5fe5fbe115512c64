/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a text of well-formed UTF-8 into words, in one of three ways:
 *
 *     SPLIT_BERT    at white space, which belongs to no word; each mark of punctuation is a word
 *     SPLIT_GPT2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *     SPLIT_LLAMA3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}|
 *                   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * The patterns take every byte: their words together are the text. For data/tokenizer/ only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum split_kind { SPLIT_BERT, SPLIT_GPT2, SPLIT_LLAMA3 };

struct split {
	enum split_kind kind;
	uint32_t digits; /* SPLIT_LLAMA3: so many digits make the longest word of a number */
};

/* A word is text + start .. text + *at. */
struct split_text {
	const char *text;
	uint64_t bytes, at; /* at: where the next word is searched */
	uint64_t start;
};

/* Finds the next word; false at the end of the text. */
bool split_next(const struct split *split, struct split_text *text);

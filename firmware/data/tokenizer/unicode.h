/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tokenisers know about characters: libutf8proc's properties, changed where the package `tokenizers`
 * has older tables, so that both programs split a text in the same places. Pure functions; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNICODE_PARTS_MAX 4u /* characters that one character is decomposed into, at most */

/* The classes of the byte-level patterns: \p{L}, \p{N}, \s, and all others. */
enum unicode_kind { UNICODE_OTHER, UNICODE_LETTER, UNICODE_NUMBER, UNICODE_SPACE };

enum unicode_kind unicode_kind(uint32_t code);
bool unicode_is_space(uint32_t code);
/* Tells whether BERT's clean_text removes the character. */
bool unicode_is_removed(uint32_t code);
bool unicode_is_punctuation(uint32_t code); /* with the marks of ASCII, such as $ and + */
bool unicode_is_mark(uint32_t code);        /* a nonspacing mark, such as an accent */
bool unicode_is_chinese(uint32_t code);     /* BERT's blocks of Chinese characters */

/* Returns the canonical combining class: marks behind a letter are sorted by it. */
uint8_t unicode_order(uint32_t code);
/* Set the canonical decomposition, and the small letters. Return the number of characters, at least 1. */
unsigned unicode_decompose(uint32_t code, uint32_t ret[static UNICODE_PARTS_MAX]);
unsigned unicode_lower(uint32_t code, uint32_t ret[static UNICODE_PARTS_MAX]);

/* Writes the character as UTF-8, at most 4 bytes. Returns their number. */
unsigned unicode_put(uint32_t code, char *out);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vocabulary: the number of each known word and of each known run of neighbouring words. A text becomes a
 * sequence of such numbers (tokens), the input of an embedding layer. Words are those of data/text_tokens.h,
 * without regard to case.
 *
 * The file has a line per token, and the line's number, from 0, is the token: words with a space between
 * them. As in Keras's TextVectorization, 0 means padding (an empty line) and 1 an unknown word ([UNK]).
 *
 * A vocabulary is read-only once it is made; any thread may encode with it.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define VOCABULARY_UNKNOWN   1
#define VOCABULARY_FIRST     2 /* the first real token */
#define VOCABULARY_MAX       (1u << 22)
#define VOCABULARY_NGRAM_MAX 4u
#define VOCABULARY_FILE_MAX  (256u << 20) /* bytes: 64 for each of the most tokens */

struct vocabulary;

/* Makes the vocabulary of the most frequent runs of 1 to `ngrams` words: at most `max` tokens with the two
 * fixed ones, the most frequent first, in bytewise order where equally frequent. A run that occurs in one
 * text only is left out. The order of the texts has no influence. Errors: -ENOMEM. */
MUST_CHECK int vocabulary_fit(const char *const *text, const uint64_t *bytes, uint32_t texts, uint32_t max,
			      uint32_t ngrams, struct vocabulary **ret_vocabulary, struct error *err);

/* Makes a vocabulary from its file's bytes, at most VOCABULARY_FILE_MAX. Errors: -EBADMSG naming the line;
 * -ENOMEM. */
MUST_CHECK int vocabulary_parse(const char *file, uint64_t bytes, struct vocabulary **ret_vocabulary,
				struct error *err);
void vocabulary_free(struct vocabulary *vocabulary);
void vocabulary_freep(struct vocabulary **vocabulary); /* for CLEANUP() */

/* Returns the file's bytes; the vocabulary owns them. */
const char *vocabulary_file(const struct vocabulary *vocabulary, uint64_t *ret_bytes);
uint32_t vocabulary_size(const struct vocabulary *vocabulary);

/* Makes a text's tokens. For each word: its number or VOCABULARY_UNKNOWN, then the numbers of the known
 * longer runs that end with this word. Writes at most `max` tokens; returns how many the text has. */
uint64_t vocabulary_encode(const struct vocabulary *vocabulary, const char *text, uint64_t bytes,
			   int64_t *ret_tokens, uint64_t max);

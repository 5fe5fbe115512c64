/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vocabulary: which number each word, or run of neighbouring words, has. Texts become the numbers of what
 * they say, in order: what embeddings take. Words are those of data/text_tokens.h, without regard to case.
 *
 * Its file has a line a token, whose number is that of the line from 0: words with a space between them. As
 * in Keras's TextVectorization, 0 stands for nothing (an empty line) and 1 for a word that is not in it
 * ([UNK]).
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define VOCABULARY_UNKNOWN   1
#define VOCABULARY_FIRST     2 /* the first real token */
#define VOCABULARY_MAX       (1u << 22)
#define VOCABULARY_NGRAM_MAX 4u

struct vocabulary;

/* The `max` - VOCABULARY_FIRST most frequent runs of 1 to `ngrams` words of the texts, the most frequent
 * first, bytewise among equals; what one text alone says is left out. The same texts in any order make the
 * same vocabulary. Errors: -ENOMEM. */
MUST_CHECK int vocabulary_fit(const char *const *text, const uint64_t *bytes, uint32_t texts, uint32_t max,
			      uint32_t ngrams, struct vocabulary **ret_vocabulary, struct error *err);

/* From its file. Errors: -EBADMSG naming the line; -ENOMEM. */
MUST_CHECK int vocabulary_parse(const char *file, uint64_t bytes, struct vocabulary **ret_vocabulary,
				struct error *err);
void vocabulary_free(struct vocabulary *vocabulary);
void vocabulary_freep(struct vocabulary **vocabulary); /* for CLEANUP() */

/* The file; it is the vocabulary's. */
const char *vocabulary_file(const struct vocabulary *vocabulary, uint64_t *ret_bytes);
uint32_t vocabulary_size(const struct vocabulary *vocabulary);

/* A text's tokens: each word's number or VOCABULARY_UNKNOWN, behind it those of the longer runs that end with
 * it and are known. Writes at most `max`, returns how many there are. */
uint64_t vocabulary_encode(const struct vocabulary *vocabulary, const char *text, uint64_t bytes,
			   int64_t *ret_tokens, uint64_t max);

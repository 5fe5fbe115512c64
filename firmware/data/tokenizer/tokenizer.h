/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokenisers of pretrained models: a text becomes the numbers (ids) of pieces of its words. The files are
 * those of Hugging Face's package `tokenizers`, and so are the ids:
 *
 *     tokenizer.json   WordPiece, with BertNormalizer and BertPreTokenizer (BERT, MiniLM), or byte-level BPE
 *                      (GPT-2, RoBERTa, Llama 3, Qwen without its normaliser)
 *     vocab.txt        WordPiece of an uncased BERT: a piece per line, whose number from 0 is the id
 *
 * The steps of a text:
 *
 *     added.h    finds tokens that stand in the text as they are, such as [MASK]
 *     normal.h   BERT's normaliser: removes control characters and accents, makes small letters
 *     split.h    splits into words
 *     pieces.h   WordPiece: the longest piece that is known, again and again
 *     merges.h   BPE: merges pairs of neighbours, the best pair of the word first
 *     cache.h    the ids of words that came before
 *
 * What the file asks for beyond this is refused by name and path, never left out. "decoder" and "padding"
 * have no influence: ids are ragged. A text that is not UTF-8 is read with U+FFFD for each wrong byte.
 *
 * Order: tokenizer_parse -> (per thread: tokenizer_open -> tokenizer_encode* -> tokenizer_closep) ->
 * tokenizer_freep. A tokenizer is only read once it is made. tokenizer_encode() allocates only where a text
 * is longer than all texts before. Cost: O(bytes) for a text, O(n log n) for a word of n bytes in BPE.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define TOKENIZER_IDS_MAX     (1u << 22)  /* ids are below */
#define TOKENIZER_FILE_MAX    (16u << 20) /* bytes */
#define TOKENIZER_ADDED_MAX   4096u /* tokens of added_tokens: each place of a text is compared with them */
#define TOKENIZER_SPECIAL_MAX 16u   /* ids before a text, and behind it */

#define TOKENIZER_ID_NONE UINT32_MAX

struct tokenizer;
struct tokenizer_thread;

/* What happens to the characters of a text before its words are split. */
struct tokenizer_normal {
	bool lower, accents, chinese; /* small letters; no accents; spaces around Chinese characters */
};

/* Makes a tokenizer from a file's bytes: tokenizer.json where their first byte but for white space is "{",
 * else vocab.txt. Copies the bytes. Errors: -EBADMSG with the path in the JSON or the line, what was found
 * and what was expected; -E2BIG; -ENOMEM. */
MUST_CHECK int tokenizer_parse(const char *file, uint64_t bytes, struct tokenizer **ret_tokenizer,
			       struct error *err);
void tokenizer_free(struct tokenizer *tokenizer);
void tokenizer_freep(struct tokenizer **tokenizer); /* for CLEANUP() */

/* Returns the file's bytes; the tokenizer owns them. */
const char *tokenizer_file(const struct tokenizer *tokenizer, uint64_t *ret_bytes);
/* Returns the largest id + 1. */
uint32_t tokenizer_size(const struct tokenizer *tokenizer);
/* Returns the number of special ids that each text gets, such as [CLS] and [SEP]. */
uint32_t tokenizer_specials(const struct tokenizer *tokenizer);
/* Returns the id of a piece by its text as it stands in the file; TOKENIZER_ID_NONE: there is none. Call it
 * before tokenizer_open(). */
uint32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text);
struct tokenizer_normal tokenizer_normal(const struct tokenizer *tokenizer);

/* Replaces the file's truncation.max_length, the most ids of a text; UINT64_MAX: none. Call it before
 * tokenizer_open(). */
void tokenizer_cut_at(struct tokenizer *tokenizer, uint64_t most);

/* Makes the memory that a thread encodes with. The tokenizer must outlive it. Errors: -ENOMEM. */
MUST_CHECK int tokenizer_open(const struct tokenizer *tokenizer, struct tokenizer_thread **ret_thread,
			      struct error *err);
void tokenizer_closep(struct tokenizer_thread **thread); /* for CLEANUP() */

/* Makes a text's ids: those of the text, cut to the file's truncation.max_length or that of
 * tokenizer_cut_at(), between the special ids.
 * Writes at most `max` of them: where there are more, the text is cut further, and the special ids stay.
 * Returns how many there are without `max`. Errors: -ENOMEM. */
MUST_CHECK int64_t tokenizer_encode(struct tokenizer_thread *thread, const char *text, uint64_t bytes,
				    int64_t *ret_ids, uint64_t max);

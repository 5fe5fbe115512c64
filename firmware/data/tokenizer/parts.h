/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a tokenizer. For data/tokenizer/ only. */
#pragma once

#include "data/tokenizer/added.h"
#include "data/tokenizer/merges.h"
#include "data/tokenizer/normal.h"
#include "data/tokenizer/path.h"
#include "data/tokenizer/pieces.h"
#include "data/tokenizer/split.h"
#include "data/tokenizer/tokenizer.h"

/* Special ids before a text, or behind it. */
struct specials {
	uint32_t id[TOKENIZER_SPECIAL_MAX], ids;
};

struct tokenizer {
	char *file;
	uint64_t bytes;
	char *names; /* bytes of pieces and added tokens; has room for all of the file */
	uint64_t names_bytes;
	char later[16]; /* mark with which a piece of WordPiece begins that does not begin its word, such as
			   "##" */
	uint32_t size;
	uint32_t vocabulary, next_added; /* pieces of model.vocab; least id of a further added token */

	bool normalises, prefix_space; /* prefix_space: a text that begins with no space gets one */
	struct normal normal;
	struct split split;
	struct added raw, normalised; /* looked for before the normaliser, and behind it */
	bool merging;                 /* BPE; otherwise WordPiece */
	struct pieces pieces;
	struct merges merges;

	uint64_t most; /* truncation.max_length; UINT64_MAX: none */
	bool cut_left; /* the first ids of a text are cut, not the last */
	struct specials before, after;
};

/* Returns the number of special ids that each text gets. */
static inline uint32_t all_specials(const struct tokenizer *tokenizer)
{
	return tokenizer->before.ids + tokenizer->after.ids;
}

/* Reads a tokenizer from its file, of which it has a copy. Errors: those of tokenizer_parse(). */
MUST_CHECK int read_json(struct tokenizer *tokenizer, struct error *err);
MUST_CHECK int read_lines(struct tokenizer *tokenizer, struct error *err);

/* Reads the member "model" of tokenizer.json. */
MUST_CHECK int read_model(struct tokenizer *tokenizer, const struct path_object *model, struct error *err);

/* Writes the bytes that a piece of byte-level BPE stands for. Returns their number; 0: it stands for none. */
uint32_t keep_bytes(const char *text, char *out);
/* Notes an id: tokenizer_size() is above it. */
void keep_id(struct tokenizer *tokenizer, uint32_t id);
/* Returns the bytes of "##" where a piece begins with it and is longer, else 0. */
uint32_t later_bytes(const struct tokenizer *tokenizer, const char *text, uint32_t bytes);
/* Adds a piece of WordPiece. The text is not copied. Returns 0 where the piece is there already, 1 otherwise.
 * Errors: -ENOMEM. */
MUST_CHECK int keep_piece(struct tokenizer *tokenizer, const char *text, uint32_t bytes, uint32_t id,
			  struct error *err);
/* Adds a token that is looked for in the text, or in the normalised text. Copies the text. Errors: -ENOMEM.
 */
MUST_CHECK int keep_token(struct tokenizer *tokenizer, const char *text, struct added_token token,
			  bool normalised, struct error *err);
/* Returns the id that the model gives to a token, by its text as it stands in the file; MERGES_NONE: none. */
uint32_t id_of(const struct tokenizer *tokenizer, const char *text);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WordPiece: a word becomes the longest piece that it begins with, then the longest that the rest begins
 * with, and so on. A word with a part that no piece fits, or that is too long, is unknown. For
 * data/tokenizer/ only.
 */
#pragma once

#include "data/tokenizer/names.h"

#define PIECES_WORD_MAX 400u /* characters; BERT's files say 100 */

struct pieces {
	struct names first, later; /* pieces at the start of a word, and behind it, without "##" */
	uint32_t unknown, word_max;
};

/* Makes the ids of a word of well-formed UTF-8. `ret_ids` has a place for each byte. Returns their number. */
uint32_t pieces_encode(const struct pieces *pieces, const char *word, uint64_t bytes, uint32_t *ret_ids);

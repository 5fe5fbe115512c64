/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte-level BPE (byte pair encoding): a word is a row of pieces, at first its bytes. Of all pairs of
 * neighbours that the file merges, the pair that the file names first becomes one piece, the leftmost where
 * it occurs twice, until no pair is left. For data/tokenizer/ only.
 */
#pragma once

#include "data/tokenizer/names.h"

#include <stdbool.h>

#define MERGES_NONE UINT32_MAX /* no id */

/* A pair of ids that becomes one piece. pair: the left id + 1 in the upper 32 bits, the right id in the lower
 * ones; 0 = the entry is empty. */
struct merge {
	uint64_t pair;
	uint32_t rank, id; /* rank: the place in the file */
};

struct merges {
	struct names names;  /* pieces by their bytes */
	uint32_t byte[256];  /* the id of each byte alone; MERGES_NONE: it is left out of a word */
	struct merge *merge; /* a hash table with open addressing, at most half full */
	uint64_t capacity;
	bool whole_first; /* a word that is a piece is not made of merges */
};

/* Memory for the longest word so far. */
struct merges_room {
	struct merges_piece *piece;
	struct merges_candidate *heap;
	uint64_t capacity; /* bytes of a word */
};

/* Makes room for `count` merges, before the first merges_add(). Errors: -ENOMEM. */
MUST_CHECK int merges_reserve(struct merges *merges, uint64_t count, struct error *err);
/* Adds the merge of two pieces into piece `id`. Of a pair that is there already, the last one counts. */
void merges_add(struct merges *merges, uint32_t left, uint32_t right, uint32_t rank, uint32_t id);
void merges_done(struct merges *merges);

/* Makes the ids of a word. `ret_ids` has a place for each byte. Returns their number. Errors: -ENOMEM. */
MUST_CHECK int64_t merges_encode(const struct merges *merges, struct merges_room *room, const char *word,
				 uint64_t bytes, uint32_t *ret_ids);
void merges_room_done(struct merges_room *room);

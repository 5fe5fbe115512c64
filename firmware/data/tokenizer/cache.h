/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that came before, with their ids: most words of a text are among some thousands. A word has one
 * place, which the newest word with this place takes. Long words and words of many ids are not kept. Each
 * thread has its own. For data/tokenizer/ only.
 */
#pragma once

#include "core/base/mix.h"
#include "core/base/words.h"

#include <stdbool.h>

#define CACHE_WORDS (1u << 14) /* 1 MiB, which the second-level cache of a core holds */
#define CACHE_BYTES 30u
#define CACHE_IDS   8u

/* A line of the processor's cache. */
struct cached_word {
	char text[CACHE_BYTES];
	uint8_t bytes, ids; /* bytes = 0: the place is empty */
	uint32_t id[CACHE_IDS];
};

/* Returns the word's place among CACHE_WORDS; NULL: the word is too long. */
static inline struct cached_word *cache_place(struct cached_word *words, const char *text, uint64_t bytes)
{
	uint64_t hash = bytes, rest = 0;

	if (bytes > CACHE_BYTES)
		return NULL;
	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), text += sizeof(uint64_t))
		hash = mix64(hash ^ load64(text));
	memcpy(&rest, text, bytes);
	return &words[mix64(hash ^ rest) & (CACHE_WORDS - 1)];
}

static inline bool cache_has(const struct cached_word *place, const char *text, uint64_t bytes)
{
	return place->bytes == bytes && memcmp(place->text, text, bytes) == 0;
}

static inline void cache_keep(struct cached_word *place, const char *text, uint64_t bytes, const uint32_t *id,
			      uint64_t ids)
{
	if (ids > CACHE_IDS)
		return;
	memcpy(place->text, text, bytes);
	memcpy(place->id, id, ids * sizeof(*id));
	place->bytes = (uint8_t)bytes;
	place->ids = (uint8_t)ids;
}

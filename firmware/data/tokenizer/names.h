/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table from the bytes of a piece to its id: a hash table with open addressing, at most half full. The hash
 * is a polynomial in the bytes, so that the hash of each part of a word follows from those of two of its
 * beginnings. The bytes belong to the caller. For data/tokenizer/ only.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/mix.h"

#include <stdint.h>

#define NAMES_BASE UINT64_C(0x9e3779b97f4a7c15) /* odd */

struct name {
	uint64_t hash;    /* 0 = the entry is empty */
	const char *text; /* at least one byte */
	uint32_t bytes, id;
};

struct names {
	struct name *name;
	uint64_t capacity, used; /* capacity: a power of two */
	uint32_t longest;        /* bytes */
};

/* Adds a byte to the sum of the bytes before. */
static inline uint64_t names_sum(uint64_t sum, char byte)
{
	return sum * NAMES_BASE + (unsigned char)byte + 1;
}

/* Returns the hash of the bytes that have this sum. */
static inline uint64_t names_hash(uint64_t sum)
{
	const uint64_t hash = mix64(sum);

	return hash ? hash : 1;
}

uint64_t names_hash_of(const char *text, uint64_t bytes);

/* Adds a piece of at least one byte; one that is there keeps its id. Returns 1 where it is new, 0 where it is
 * there. Errors: -ENOMEM. */
MUST_CHECK int names_add(struct names *names, const char *text, uint32_t bytes, uint32_t id,
			 struct error *err);
/* Returns the entry of a piece with this hash; NULL where there is none. */
const struct name *names_find(const struct names *names, uint64_t hash, const char *text, uint64_t bytes);
void names_done(struct names *names);

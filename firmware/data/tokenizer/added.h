/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens that stand in a text as they are and are no part of a word, such as [MASK]: the leftmost one is
 * taken, and of several at one place the longest. A tokenizer has two lists: one is looked for in the text,
 * one in the normalised text. For data/tokenizer/ only.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct added_token {
	const char *text; /* the list does not own it */
	uint32_t bytes, id;
	bool left, right; /* takes the white space on this side, too */
};

struct added {
	struct added_token *token; /* once sorted, the longest first */
	uint32_t tokens, capacity;
	bool first[256]; /* bytes that a token begins with */
};

/* A token in a text, with its white space: start .. end. */
struct added_match {
	const struct added_token *token;
	uint64_t start, end;
};

/* Adds a token of at least one byte. Errors: -ENOMEM. */
MUST_CHECK int added_add(struct added *added, const struct added_token *token, struct error *err);
/* Called after the last added_add(). */
void added_sort(struct added *added);
void added_done(struct added *added);

/* Finds the first token from `at` on; false where there is none. */
bool added_find(const struct added *added, const char *text, uint64_t bytes, uint64_t at,
		struct added_match *ret_match);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the word of a list that a person probably meant who typed another word: "did you mean". Two words are
 * near where few letters must be added, removed, replaced or swapped; upper and lower case count as equal,
 * and so do '-' and '_'.
 *
 * Order: set `typed` -> nearest_try() for each word of the list -> nearest_text(). Nothing is allocated.
 */
#pragma once

#include <stddef.h>

#define NEAREST_WORD_BYTES 64u /* a longer word is near no word */
#define NEAREST_TEXT_BYTES (NEAREST_WORD_BYTES + 32u)

struct nearest {
	const char *typed;
	/* Private: */
	char word[NEAREST_WORD_BYTES]; /* the nearest word so far; "" = no word is near */
	size_t distance;
};

void nearest_try(struct nearest *nearest, const char *word);
/* Writes "; did you mean \"WORD\"?", or "" where no word is near. Returns `out`. */
const char *nearest_text(const struct nearest *nearest, char out[static NEAREST_TEXT_BYTES]);

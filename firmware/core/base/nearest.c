/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_same(char a, char b)
{
	const int left = a == '_' ? '-' : tolower((unsigned char)a);
	const int right = b == '_' ? '-' : tolower((unsigned char)b);

	return left == right;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns how many letters of `a` must be added, removed, replaced, or swapped with their neighbour to make
 * `b` (optimal string alignment). row[i] holds the distances from the first i letters of `a`; three rows are
 * enough. */
static size_t distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[3][NEAREST_WORD_BYTES];

	for (size_t j = 0; j <= b_length; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *now = row[i % 3];
		const size_t *last = row[(i + 2) % 3], *before_last = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			now[j] = least(last[j], now[j - 1]) + 1;
			now[j] = least(now[j], last[j - 1] + !is_same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
				now[j] = least(now[j], before_last[j - 2] + 1);
		}
	}
	return row[a_length % 3][b_length];
}

void nearest_try(struct nearest *nearest, const char *word)
{
	const size_t typed_length = strlen(nearest->typed), length = strlen(word);
	/* One mistake in three letters; a word of one letter is near no word. */
	const size_t most = least(typed_length, length) > 1 ? 1 + (least(typed_length, length) - 1) / 3 : 0;
	size_t distance;

	if (typed_length >= NEAREST_WORD_BYTES || length >= NEAREST_WORD_BYTES)
		return;
	distance = distance_of(nearest->typed, typed_length, word, length);
	if (distance > most || (*nearest->word && distance >= nearest->distance))
		return;
	memcpy(nearest->word, word, length + 1);
	nearest->distance = distance;
}

const char *nearest_text(const struct nearest *nearest, char out[static NEAREST_TEXT_BYTES])
{
	*out = '\0';
	if (*nearest->word)
		(void)snprintf(out, NEAREST_TEXT_BYTES, "; did you mean \"%s\"?", nearest->word);
	return out;
}

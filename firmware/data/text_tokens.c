/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_tokens.h"

#include "core/base/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over the bytes, then mix64(), as buckets are chosen by the low bits. */
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)
#define CHAIN     UINT64_C(0x9e3779b97f4a7c15) /* tells "a b" from "b a" */

static bool in_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

/* A mark that carries mood or structure counts as a word. */
static bool is_mark(unsigned char c)
{
	return c == '!' || c == '?' || c == '(' || c == ')' || c == '"' || c == ':' || c == ';' || c == '*' ||
	       c == '+';
}

static uint64_t skip_tag(const char *text, uint64_t at, uint64_t bytes)
{
	static const char tag[] = "<br />";

	return bytes - at >= sizeof(tag) - 1 && memcmp(text + at, tag, sizeof(tag) - 1) == 0 ? sizeof(tag) - 1
											     : 0;
}

/* An apostrophe between letters stays in the word. */
static uint64_t word_end(const char *text, uint64_t bytes, uint64_t start)
{
	uint64_t at = start;

	while (at < bytes &&
	       (in_word((unsigned char)text[at]) ||
		(text[at] == '\'' && at > start && at + 1 < bytes && in_word((unsigned char)text[at + 1]))))
		at++;
	return at;
}

bool text_next_word(const char *text, uint64_t bytes, uint64_t *at, struct text_word *ret_word)
{
	while (*at < bytes && !in_word((unsigned char)text[*at]) && !is_mark((unsigned char)text[*at])) {
		uint64_t tag = skip_tag(text, *at, bytes);

		*at += tag ? tag : 1;
	}
	if (*at == bytes)
		return false;
	ret_word->text = text + *at;
	ret_word->bytes = is_mark((unsigned char)text[*at]) ? 1 : word_end(text, bytes, *at) - *at;
	*at += ret_word->bytes;
	return true;
}

char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

uint64_t text_word_hash(const struct text_word *word)
{
	uint64_t hash = FNV_START;

	for (uint64_t i = 0; i < word->bytes; i++)
		hash = (hash ^ (unsigned char)text_lower(word->text[i])) * FNV_PRIME;
	return mix64(hash);
}

uint64_t text_pair_hash(uint64_t first, uint64_t second)
{
	return mix64(first * CHAIN ^ second);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t text_features(const char *text, uint64_t bytes, uint64_t **ret)
{
	uint64_t at = 0, last = 0, last_but_one = 0, used = 0, unique = 0, *features;
	struct text_word word;

	/* Upper bound: a word has at least one byte and adds itself, a pair and a triple. */
	features = malloc((3 * bytes + 1) * sizeof(*features));
	if (!features)
		return -ENOMEM;
	while (text_next_word(text, bytes, &at, &word)) {
		uint64_t hash = text_word_hash(&word);

		features[used++] = hash;
		if (last)
			features[used++] = text_pair_hash(last, hash);
		if (last_but_one)
			features[used++] = text_pair_hash(text_pair_hash(last_but_one, last), hash);
		last_but_one = last;
		last = hash;
	}
	qsort(features, used, sizeof(*features), compare);
	for (uint64_t i = 0; i < used; i++)
		if (i == 0 || features[i] != features[i - 1])
			features[unique++] = features[i];
	*ret = features;
	return (int64_t)unique;
}

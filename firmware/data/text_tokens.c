/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_tokens.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over the bytes, then SplitMix64's finaliser: buckets take the low bits. */
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)
#define CHAIN     UINT64_C(0x9e3779b97f4a7c15) /* tells "a b" from "b a" */

static uint64_t finish(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static bool in_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

/* Marks that carry mood or structure count as words of their own. */
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

/* The next word's hash; false at the end. An apostrophe between letters stays in the word. */
static bool next_word(const char *text, uint64_t bytes, uint64_t *at, uint64_t *ret_hash)
{
	uint64_t hash = FNV_START, start;

	while (*at < bytes && !in_word((unsigned char)text[*at]) && !is_mark((unsigned char)text[*at])) {
		uint64_t tag = skip_tag(text, *at, bytes);

		*at += tag ? tag : 1;
	}
	if (*at == bytes)
		return false;
	start = *at;
	if (is_mark((unsigned char)text[*at])) {
		*ret_hash = finish((hash ^ (unsigned char)text[(*at)++]) * FNV_PRIME);
		return true;
	}
	while (*at < bytes) {
		unsigned char c = (unsigned char)text[*at];

		if (!in_word(c) &&
		    !(c == '\'' && *at > start && *at + 1 < bytes && in_word((unsigned char)text[*at + 1])))
			break;
		if (c >= 'A' && c <= 'Z')
			c = (unsigned char)(c - 'A' + 'a');
		hash = (hash ^ c) * FNV_PRIME;
		(*at)++;
	}
	*ret_hash = finish(hash);
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t text_features(const char *text, uint64_t bytes, uint64_t **ret)
{
	uint64_t at = 0, hash, last = 0, last_but_one = 0, used = 0, unique = 0, *features;

	/* A word takes a byte at least; each adds itself, a pair and a triple. */
	features = malloc((3 * bytes + 1) * sizeof(*features));
	if (!features)
		return -ENOMEM;
	while (next_word(text, bytes, &at, &hash)) {
		uint64_t pair = finish(last * CHAIN ^ hash);

		features[used++] = hash;
		if (last)
			features[used++] = pair;
		if (last_but_one)
			features[used++] = finish(finish(last_but_one * CHAIN ^ last) * CHAIN ^ hash);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/added.h"

#include "core/base/utf8.h"
#include "data/tokenizer/unicode.h"

#include <stdlib.h>
#include <string.h>

int added_add(struct added *added, const struct added_token *token, struct error *err)
{
	if (added->tokens == added->capacity) {
		const uint32_t capacity = added->capacity ? 2 * added->capacity : 16;
		void *grown = realloc(added->token, capacity * sizeof(*added->token));

		if (!grown)
			return error_set(err, -ENOMEM, "no memory for %u added tokens", added->tokens);
		added->token = grown;
		added->capacity = capacity;
	}
	added->token[added->tokens++] = *token;
	added->first[(unsigned char)*token->text] = true;
	return 0;
}

static int longer_first(const void *a, const void *b)
{
	const struct added_token *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
				    : (x->id > y->id) - (x->id < y->id);
}

void added_sort(struct added *added)
{
	if (added->tokens)
		qsort(added->token, added->tokens, sizeof(*added->token), longer_first);
}

void added_done(struct added *added)
{
	free(added->token);
}

static const struct added_token *token_at(const struct added *added, const char *text, uint64_t bytes)
{
	for (uint32_t i = 0; i < added->tokens; i++) {
		const struct added_token *token = &added->token[i];

		if (token->bytes <= bytes && memcmp(token->text, text, token->bytes) == 0)
			return token;
	}
	return NULL;
}

/* Returns where the white space before `end` begins, at `least` or later. */
static uint64_t spaces_before(const char *text, uint64_t least, uint64_t end)
{
	while (end > least) {
		uint64_t start = end - 1;
		uint32_t code;

		while (start > least && ((unsigned char)text[start] & 0xc0) == 0x80)
			start--;
		if (utf8_character(text + start, end - start, &code) == 0 || !unicode_is_space(code))
			return end;
		end = start;
	}
	return end;
}

static uint64_t spaces_after(const char *text, uint64_t bytes, uint64_t at)
{
	while (at < bytes) {
		uint32_t code;
		const unsigned length = utf8_character(text + at, bytes - at, &code);

		if (!unicode_is_space(code))
			break;
		at += length;
	}
	return at;
}

bool added_find(const struct added *added, const char *text, uint64_t bytes, uint64_t at,
		struct added_match *ret_match)
{
	const struct added_token *token = NULL;
	uint64_t start = at;

	if (added->tokens == 0)
		return false;
	for (; start < bytes; start++)
		if (added->first[(unsigned char)text[start]] &&
		    (token = token_at(added, text + start, bytes - start)))
			break;
	if (!token)
		return false;
	ret_match->token = token;
	ret_match->start = token->left ? spaces_before(text, at, start) : start;
	ret_match->end = start + token->bytes;
	if (token->right)
		ret_match->end = spaces_after(text, bytes, ret_match->end);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/split.h"

#include "core/base/utf8.h"
#include "data/tokenizer/unicode.h"

#include <string.h>
#include <strings.h>

#define LONG_S "\xc5\xbf" /* U+017F, a form of "s" without regard to case */

/* Returns the code point at `at`, and its bytes; 0 bytes at the end. */
static uint32_t code_at(const struct split_text *text, uint64_t at, unsigned *ret_bytes)
{
	uint32_t code = 0;

	*ret_bytes = 0;
	if (at >= text->bytes)
		return 0;
	if ((unsigned char)text->text[at] < 0x80) {
		*ret_bytes = 1;
		return (unsigned char)text->text[at];
	}
	*ret_bytes = utf8_character(text->text + at, text->bytes - at, &code);
	return code;
}

/* ---- BERT ---- */

enum bert_kind { BERT_LETTER, BERT_SPACE, BERT_MARK };

static enum bert_kind bert_kind(const struct split_text *text, uint64_t at, unsigned *ret_bytes)
{
	static const uint8_t ascii[128] = {
		['\t' ... '\r'] = BERT_SPACE, [' '] = BERT_SPACE,        ['!' ... '/'] = BERT_MARK,
		[':' ... '@'] = BERT_MARK,    ['[' ... '`'] = BERT_MARK, ['{' ... '~'] = BERT_MARK,
	};
	const unsigned char first = (unsigned char)text->text[at];
	uint32_t code;

	*ret_bytes = 1;
	if (first < sizeof(ascii))
		return ascii[first];
	code = code_at(text, at, ret_bytes);
	if (unicode_is_space(code))
		return BERT_SPACE;
	return unicode_is_punctuation(code) ? BERT_MARK : BERT_LETTER;
}

static bool next_of_bert(struct split_text *text)
{
	enum bert_kind kind = BERT_SPACE;
	unsigned bytes;

	while (text->at < text->bytes && (kind = bert_kind(text, text->at, &bytes)) == BERT_SPACE)
		text->at += bytes;
	if (kind == BERT_SPACE)
		return false;
	text->start = text->at;
	text->at += bytes;
	if (kind == BERT_MARK)
		return true;
	while (text->at < text->bytes && bert_kind(text, text->at, &bytes) == BERT_LETTER)
		text->at += bytes;
	return true;
}

/* ---- The byte-level patterns ---- */

/* Returns the kind of the character at `at`; -1 at the end. */
static int kind_at(const struct split_text *text, uint64_t at, unsigned *ret_bytes)
{
	static const uint8_t ascii[128] = {
		['\t' ... '\r'] = UNICODE_SPACE, [' '] = UNICODE_SPACE,
		['0' ... '9'] = UNICODE_NUMBER,  ['A' ... 'Z'] = UNICODE_LETTER,
		['a' ... 'z'] = UNICODE_LETTER,
	};
	const uint32_t code = code_at(text, at, ret_bytes);

	if (*ret_bytes == 0)
		return -1;
	return code < sizeof(ascii) ? ascii[code] : (int)unicode_kind(code);
}

/* Returns the end of the run of one kind, of at most `most` characters. */
static uint64_t run_end(const struct split_text *text, uint64_t at, int kind, uint32_t most)
{
	unsigned bytes;

	for (; most > 0 && kind_at(text, at, &bytes) == kind; most--)
		at += bytes;
	return at;
}

static bool is_line_end(const struct split_text *text, uint64_t at)
{
	return at < text->bytes && (text->text[at] == '\n' || text->text[at] == '\r');
}

/* Returns the end of an English ending such as 's, or `at` where there is none. */
static uint64_t ending_end(const struct split_text *text, uint64_t at, bool any_case)
{
	static const char *const ending[] = { "s", "t", "re", "ve", "m", "ll", "d" };
	const char *letters = text->text + at + 1;
	const uint64_t left = text->bytes - at - 1;

	if (text->text[at] != '\'')
		return at;
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		const size_t bytes = strlen(ending[i]);

		if (bytes <= left && (any_case ? strncasecmp : strncmp)(letters, ending[i], bytes) == 0)
			return at + 1 + bytes;
	}
	if (any_case && left >= strlen(LONG_S) && memcmp(letters, LONG_S, strlen(LONG_S)) == 0)
		return at + 1 + strlen(LONG_S);
	return at;
}

/* Returns the end of a word of white space: \s+(?!\S)|\s+. The last character before a word stays with the
 * word, unless it is alone. */
static uint64_t spaces_end(const struct split_text *text, uint64_t at)
{
	unsigned bytes = 0, last = 0;
	uint64_t end = at;

	while (kind_at(text, end, &bytes) == UNICODE_SPACE) {
		end += bytes;
		last = bytes;
	}
	return end == text->bytes || end - last == at ? end : end - last;
}

static uint64_t gpt2_end(const struct split_text *text, uint64_t at)
{
	uint64_t end = ending_end(text, at, false), word = at + (text->text[at] == ' ');
	unsigned bytes;
	int kind;

	if (end > at)
		return end;
	kind = kind_at(text, word, &bytes);
	if (kind >= 0 && kind != UNICODE_SPACE)
		return run_end(text, word, kind, UINT32_MAX);
	return spaces_end(text, at);
}

/* Returns the end of \s*[\r\n]+, or `at` where this does not match: the last line end of the white space. */
static uint64_t lines_end(const struct split_text *text, uint64_t at)
{
	uint64_t end = at;
	unsigned bytes;

	for (uint64_t i = at; kind_at(text, i, &bytes) == UNICODE_SPACE; i += bytes)
		if (is_line_end(text, i))
			end = i + 1;
	return end;
}

static uint64_t llama3_end(const struct split_text *text, uint64_t at, uint32_t digits)
{
	uint64_t end = ending_end(text, at, true), word = at + (text->text[at] == ' ');
	unsigned bytes, next;
	const int kind = kind_at(text, at, &bytes);

	if (end > at)
		return end;
	if (kind == UNICODE_LETTER)
		return run_end(text, at, UNICODE_LETTER, UINT32_MAX);
	if (kind == UNICODE_NUMBER)
		return run_end(text, at, UNICODE_NUMBER, digits);
	if (!is_line_end(text, at) && kind_at(text, at + bytes, &next) == UNICODE_LETTER)
		return run_end(text, at + bytes, UNICODE_LETTER, UINT32_MAX);
	if (kind_at(text, word, &next) == UNICODE_OTHER) {
		end = run_end(text, word, UNICODE_OTHER, UINT32_MAX);
		while (is_line_end(text, end))
			end++;
		return end;
	}
	end = lines_end(text, at);
	return end > at ? end : spaces_end(text, at);
}

bool split_next(const struct split *split, struct split_text *text)
{
	if (split->kind == SPLIT_BERT)
		return next_of_bert(text);
	if (text->at >= text->bytes)
		return false;
	text->start = text->at;
	text->at = split->kind == SPLIT_GPT2 ? gpt2_end(text, text->at)
					     : llama3_end(text, text->at, split->digits);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads vocab.txt. */
#include "data/tokenizer/parts.h"

#include "core/base/utf8.h"

#include <string.h>

#define WORD_CHARACTERS 100u /* BERT's longest word */
#define LATER           "##" /* begins a piece that stands behind another */

/* Adds a special token by its text, as BERT does: it is looked for in the text as it stands. */
static int add_special(struct tokenizer *tokenizer, const char *text, struct specials *specials,
		       struct error *err)
{
	const uint32_t id = id_of(tokenizer, text);

	if (id == MERGES_NONE)
		return specials ? error_set(err, -EBADMSG, "found no line \"%s\", which BERT needs", text)
				: 0;
	if (specials)
		specials->id[specials->ids++] = id;
	return keep_token(tokenizer, text, (struct added_token){ .id = id }, false, err);
}

static bool has_capital(const char *text, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (text[i] >= 'A' && text[i] <= 'Z' && *text != '[')
			return true;
	return false;
}

static int add_line(struct tokenizer *tokenizer, const char *text, uint64_t bytes, struct error *err)
{
	int r;

	while (bytes > 0 && (text[bytes - 1] == '\r' || text[bytes - 1] == ' ' || text[bytes - 1] == '\t'))
		bytes--;
	if (bytes == 0 || utf8_valid_bytes(text, bytes) < bytes)
		return error_set(err, -EBADMSG, "found %s, expected a piece of a word",
				 bytes ? "bytes that are not UTF-8" : "an empty line");
	if (has_capital(text, bytes))
		return error_set(err, -EBADMSG,
				 "found the capital letters of \"%.*s\", but vocab.txt is read as an uncased "
				 "model's; give the model's tokenizer.json",
				 bytes < 80 ? (int)bytes : 80, text);
	if (tokenizer->size == TOKENIZER_IDS_MAX)
		return error_set(err, -EBADMSG, "more than %u pieces", TOKENIZER_IDS_MAX);
	r = keep_piece(tokenizer, text, (uint32_t)bytes, tokenizer->size, err);
	tokenizer->size++;
	return r == 0 ? error_set(err, -EBADMSG, "\"%.*s\" is there twice", bytes < 80 ? (int)bytes : 80,
				  text)
		      : r;
}

int read_lines(struct tokenizer *tokenizer, struct error *err)
{
	static const char *const other[] = { "[UNK]", "[PAD]", "[MASK]" };
	const char *at = tokenizer->file + utf8_mark(tokenizer->file, tokenizer->bytes);
	const char *end = tokenizer->file + tokenizer->bytes;
	int r;

	tokenizer->normalises = true;
	(void)snprintf(tokenizer->later, sizeof(tokenizer->later), LATER);
	tokenizer->normal = (struct normal){ .clean = true, .chinese = true, .accents = true, .lower = true };
	normal_prepare(&tokenizer->normal);
	tokenizer->pieces.word_max = WORD_CHARACTERS;
	for (uint32_t line = 1; at < end; line++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		line_end = line_end ? line_end : end;
		r = add_line(tokenizer, at, (uint64_t)(line_end - at), err);
		if (r < 0)
			return error_prefix(err, "vocab.txt: line %u", line);
		at = line_end + 1;
	}
	r = add_special(tokenizer, "[CLS]", &tokenizer->before, err);
	if (r == 0)
		r = add_special(tokenizer, "[SEP]", &tokenizer->after, err);
	for (size_t i = 0; r == 0 && i < sizeof(other) / sizeof(other[0]); i++)
		r = add_special(tokenizer, other[i], NULL, err);
	tokenizer->pieces.unknown = id_of(tokenizer, "[UNK]");
	if (r == 0 && tokenizer->pieces.unknown == MERGES_NONE)
		r = error_set(err, -EBADMSG, "found no line \"[UNK]\", which BERT needs");
	return r < 0 ? error_prefix(err, "vocab.txt") : 0;
}

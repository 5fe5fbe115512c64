/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the pieces and tokens of both files of a tokenizer. */
#include "data/tokenizer/parts.h"

#include "core/base/utf8.h"

#include <string.h>

#define FIRST_OF_OTHERS 0x100u

/* Byte-level BPE writes bytes as characters: the bytes that print in Latin-1 as they are, the other 68 as
 * U+0100 .. U+0143 in their order. A space is U+0120. */
static bool stands_for_itself(uint32_t byte)
{
	return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
	       (byte >= 0xae && byte <= 0xff);
}

/* Returns the byte that a character stands for; -1: none. */
static int byte_of(uint32_t code)
{
	uint32_t other = FIRST_OF_OTHERS;

	if (code < FIRST_OF_OTHERS)
		return stands_for_itself(code) ? (int)code : -1;
	for (uint32_t byte = 0; byte < 256; byte++)
		if (!stands_for_itself(byte) && other++ == code)
			return (int)byte;
	return -1;
}

uint32_t keep_bytes(const char *text, char *out)
{
	const char *end = text + strlen(text);
	uint32_t bytes = 0;

	while (text < end) {
		uint32_t code;
		int byte;

		text += utf8_character(text, (uint64_t)(end - text), &code);
		byte = byte_of(code);
		if (byte < 0)
			return 0;
		out[bytes++] = (char)byte;
	}
	return bytes;
}

uint32_t id_of(const struct tokenizer *tokenizer, const char *text)
{
	const struct names *names;
	char *scratch = tokenizer->names + tokenizer->names_bytes;
	uint32_t bytes = (uint32_t)strlen(text);
	const struct name *name;

	if (tokenizer->merging && keep_bytes(text, scratch) > 0) {
		names = &tokenizer->merges.names;
		bytes = keep_bytes(text, scratch);
		text = scratch;
	} else {
		const uint32_t skipped = later_bytes(tokenizer, text, bytes);

		names = skipped ? &tokenizer->pieces.later : &tokenizer->pieces.first;
		text += skipped;
		bytes -= skipped;
	}
	name = bytes ? names_find(names, names_hash_of(text, bytes), text, bytes) : NULL;
	return name ? name->id : MERGES_NONE;
}

void keep_id(struct tokenizer *tokenizer, uint32_t id)
{
	if (id >= tokenizer->size)
		tokenizer->size = id + 1;
}

uint32_t later_bytes(const struct tokenizer *tokenizer, const char *text, uint32_t bytes)
{
	const uint32_t skipped = (uint32_t)strlen(tokenizer->later);

	return bytes > skipped && memcmp(text, tokenizer->later, skipped) == 0 ? skipped : 0;
}

int keep_piece(struct tokenizer *tokenizer, const char *text, uint32_t bytes, uint32_t id, struct error *err)
{
	const uint32_t skipped = later_bytes(tokenizer, text, bytes);

	return names_add(skipped ? &tokenizer->pieces.later : &tokenizer->pieces.first, text + skipped,
			 bytes - skipped, id, err);
}

int keep_token(struct tokenizer *tokenizer, const char *text, struct added_token token, bool normalised,
	       struct error *err)
{
	char *kept = tokenizer->names + tokenizer->names_bytes;
	CLEANUP(normal_marks_done) struct normal_marks marks = { 0 };
	int64_t bytes = (int64_t)strlen(text);

	if (normalised && tokenizer->normalises)
		bytes = normal_text(&tokenizer->normal, &marks, text, (uint64_t)bytes, kept);
	else
		memcpy(kept, text, (size_t)bytes);
	if (bytes < 0)
		return error_set(err, -ENOMEM, "no memory for a token");
	if (bytes == 0)
		return 0;
	tokenizer->names_bytes += (uint64_t)bytes;
	token.text = kept;
	token.bytes = (uint32_t)bytes;
	return added_add(normalised ? &tokenizer->normalised : &tokenizer->raw, &token, err);
}

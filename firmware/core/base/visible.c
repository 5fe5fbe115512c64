/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/visible.h"
#include "core/base/utf8.h"

#include <string.h>

#define PIECE_BYTES 17u /* four bytes as \xNN, with the NUL */

bool visible_hides(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

/* Writes the visible form of the first character of `text`, which is not empty. Returns how many bytes of
 * `text` this is. */
static unsigned next_piece(const char *text, const char *stays, char out[static PIECE_BYTES])
{
	uint32_t code;
	unsigned bytes = utf8_character(text, strnlen(text, 4), &code);

	if (bytes && (!visible_hides(code) || strchr(stays, *text))) {
		memcpy(out, text, bytes);
		out[bytes] = '\0';
		return bytes;
	}
	bytes = bytes ? bytes : 1;
	for (unsigned i = 0; i < bytes; i++)
		(void)sprintf(out + 4 * i, "\\x%02x", (unsigned char)text[i]);
	return bytes;
}

static const char *write_pieces(const char *text, const char *stays, char *out, size_t size)
{
	char piece[PIECE_BYTES];
	size_t used = 0;

	while (*text) {
		const unsigned bytes = next_piece(text, stays, piece);
		const size_t length = strlen(piece);

		if (used + length >= size)
			break;
		memcpy(out + used, piece, length);
		used += length;
		text += bytes;
	}
	out[used] = '\0';
	return out;
}

bool visible_is(const char *text)
{
	char piece[PIECE_BYTES];

	for (unsigned bytes; *text; text += bytes) {
		bytes = next_piece(text, "", piece);
		if (strncmp(piece, text, bytes) != 0)
			return false;
	}
	return true;
}

const char *visible(const char *text, char *out, size_t size)
{
	return write_pieces(text, "", out, size);
}

const char *visible_lines(const char *text, char *out, size_t size)
{
	return write_pieces(text, "\n\t", out, size);
}

void visible_print(const char *text, FILE *out)
{
	char piece[PIECE_BYTES];

	while (*text) {
		text += next_piece(text, "", piece);
		fputs(piece, out);
	}
}

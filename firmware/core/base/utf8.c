/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define MARK        "\xef\xbb\xbf" /* U+FEFF */

unsigned utf8_character(const char *text, uint64_t left, uint32_t *ret_code)
{
	const unsigned char *s = (const unsigned char *)text;
	const unsigned n = *s < 0x80                 ? 1
			   : *s >= 0xc2 && *s < 0xe0 ? 2
			   : (*s & 0xf0) == 0xe0     ? 3
			   : *s >= 0xf0 && *s < 0xf5 ? 4
						     : 0;
	uint32_t code = n == 1 ? *s : *s & (0x7fu >> n);

	if (n == 0 || n > left)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
	    (n == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	*ret_code = code;
	return n;
}

uint64_t utf8_valid_bytes(const char *text, uint64_t bytes)
{
	uint64_t at = 0;
	uint32_t code;

	while (at < bytes) {
		unsigned n = utf8_character(text + at, bytes - at, &code);

		if (n == 0)
			break;
		at += n;
	}
	return at;
}

char *utf8_repaired(const char *text, uint64_t bytes)
{
	char *copy = malloc(bytes * strlen(REPLACEMENT) + 1), *to = copy;

	if (!copy)
		return NULL;
	for (;;) {
		uint64_t valid = utf8_valid_bytes(text, bytes);

		memcpy(to, text, valid);
		to += valid;
		if (valid == bytes)
			break;
		memcpy(to, REPLACEMENT, strlen(REPLACEMENT));
		to += strlen(REPLACEMENT);
		text += valid + 1;
		bytes -= valid + 1;
	}
	*to = '\0';
	return copy;
}

uint64_t utf8_mark(const char *text, uint64_t bytes)
{
	const uint64_t mark = sizeof(MARK) - 1;

	return bytes >= mark && memcmp(text, MARK, mark) == 0 ? mark : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Returns the length in bytes of the character at `s`, 0 where these bytes are no valid character. */
static unsigned character_bytes(const unsigned char *s, uint64_t left)
{
	unsigned n = *s < 0x80                 ? 1
		     : *s >= 0xc2 && *s < 0xe0 ? 2
		     : (*s & 0xf0) == 0xe0     ? 3
		     : *s >= 0xf0 && *s < 0xf5 ? 4
					       : 0;

	if (n == 0 || n > left)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

uint64_t utf8_valid_bytes(const char *text, uint64_t bytes)
{
	uint64_t at = 0;

	while (at < bytes) {
		unsigned n = character_bytes((const unsigned char *)text + at, bytes - at);

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

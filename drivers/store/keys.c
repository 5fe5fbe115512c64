/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/backend.h"

#include <fnmatch.h>
#include <string.h>

/* ---- What both backends use ---- */

size_t store_glob_literal(const char *glob)
{
	return glob ? strcspn(glob, "*?[\\") : 0;
}

bool store_glob_matches(const char *glob, const char *key)
{
	return !glob || fnmatch(glob, key, 0) == 0;
}

const char *store_key_text(const char *key, char out[static STORE_KEY_TEXT])
{
	char *to = out;

	for (; *key && to < out + STORE_KEY_TEXT - 5; key++) {
		unsigned char c = (unsigned char)*key;

		if (c < 0x20 || c == 0x7f)
			to += sprintf(to, "\\x%02x", c);
		else
			*to++ = *key;
	}
	*to = 0;
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/redact.h"

#include "core/base/cleanup.h"

#include <stdbool.h>
#include <string.h>

#define BLACK "***"

static bool is_value(char c)
{
	return c && !strchr(" \t\r\n\"'\\&,;<>", c);
}

/* Finds `abc` in "secret=abc" or "token: abc". `text` begins after the word "secret" or "token". *ret_skip is
 * the count of bytes before the value. Returns the length of the value, 0 where there is none. */
static size_t value_after(const char *text, size_t *ret_skip)
{
	size_t skip = strspn(text, "\"\\"), length = 0;

	if (text[skip] != '=' && text[skip] != ':')
		return 0;
	skip += strspn(text + skip, "=: \"\\");
	while (is_value(text[skip + length]))
		length++;
	*ret_skip = skip;
	return length;
}

/* Finds a secret at the start of `text`: user and password after "://", or a value after a word such as
 * "password". *ret_skip is the count of bytes before the secret. Returns the length of the secret, 0 where
 * there is none. */
static size_t secret_at(const char *text, size_t *ret_skip)
{
	static const char *const words[] = { "secret",
					     "password",
					     "passwd",
					     "token",
					     "authorization",
					     "secret_access_key",
					     "session_token",
					     "x-amz-signature",
					     "x-amz-credential",
					     "signature",
					     "x-amz-security-token" };
	size_t length = 0;

	if (strncmp(text, "://", 3) == 0) {
		length = strcspn(text + 3, "/@ \"\n");
		*ret_skip = 3;
		return text[3 + length] == '@' ? length : 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncasecmp(text, words[i], strlen(words[i])) != 0)
			continue;
		length = value_after(text + strlen(words[i]), ret_skip);
		if (!length)
			continue;
		*ret_skip += strlen(words[i]);
		/* "Authorization: AWS4-HMAC-SHA256 Credential=..., Signature=...": the whole line is secret.
		 */
		if (strcmp(words[i], "authorization") == 0)
			length = strcspn(text + *ret_skip, "\"\\\n");
		return length;
	}
	return 0;
}

char *redact(const char *text)
{
	CLEANUP(free_ptr) char *out = NULL;
	size_t bytes;
	FILE *file = open_memstream(&out, &bytes);

	if (!file)
		return NULL;
	while (*text) {
		size_t skip = 0, length = secret_at(text, &skip);

		if (length) {
			(void)fwrite(text, 1, skip, file);
			fputs(BLACK, file);
			text += skip + length;
		} else {
			(void)fputc(*text++, file);
		}
	}
	return fclose(file) == 0 ? TAKE(out) : NULL;
}

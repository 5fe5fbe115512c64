/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/url.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"

const char *url_below(char *out, size_t size, const char *url, const char *format, ...)
{
	const size_t length = strlen(url);
	va_list args;
	size_t used;

	(void)snprintf(out, size, "%s%s", url, length && url[length - 1] == '/' ? "" : "/");
	used = strlen(out);
	va_start(args, format);
	(void)vsnprintf(out + used, size - used, format, args);
	va_end(args);
	return out;
}

/* Tells whether the text ends with a host or a port, and not in the middle of a password. */
static bool ends_as_host(const char *text, size_t bytes)
{
	const char *colon = memrchr(text, ':', bytes);

	return !colon || text[bytes - 1] == ']' || colon + 1 + strspn(colon + 1, DIGITS) >= text + bytes;
}

/* Returns the length up to the last '@', with it; 0 = there is none. */
static size_t bytes_to_at(const char *text, size_t bytes)
{
	const char *at = memrchr(text, '@', bytes);

	return at ? (size_t)(at + 1 - text) : 0;
}

size_t url_login_bytes(const char *authority, size_t bytes)
{
	const size_t until = strcspn(authority, "/?#"), end = until < bytes ? until : bytes;
	const size_t login = bytes_to_at(authority, end);

	return ends_as_host(authority + login, end - login) ? login : bytes_to_at(authority, bytes);
}

/* Tells whether a text without "://" has a user and a password: "a@b" is a mail address. */
static bool has_login(const char *text, size_t bytes)
{
	const char *at = memchr(text, '@', bytes);

	return at && memchr(text, ':', (size_t)(at - text));
}

const char *url_without_login(const char *text, size_t bytes, char *out, size_t size)
{
	const char *scheme = memmem(text, bytes, "://", 3);
	const size_t before = scheme ? (size_t)(scheme + 3 - text) : 0;
	const bool found =
		scheme ? url_login_bytes(text + before, bytes - before) > 0 : has_login(text, bytes);
	/* after a password with both '@' and '/' only the last '@' is sure */
	const size_t login = found ? bytes_to_at(text + before, bytes - before) : 0;

	(void)snprintf(out, size, "%.*s%s%.*s", (int)before, text, login ? "***@" : "",
		       (int)(bytes - before - login), text + before + login);
	return out;
}

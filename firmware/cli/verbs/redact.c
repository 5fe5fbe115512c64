/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/redact.h"

#include "core/base/cleanup.h"
#include "core/base/url.h"

#include <stdbool.h>
#include <string.h>

#define BLACK "***"

/* A secret within the text: the bytes before it, which stay, and its length; 0 = there is none. */
struct secret {
	size_t skip, length;
};

/* ---- A value after a word ---- */

/* Returns the length of a value that ends with a quote: `quote` is `"`, `'` or, within a string, `\"`. */
static size_t quoted(const char *text, const char *quote)
{
	const char *end = text;

	while (*end && strncmp(end, quote, strlen(quote)) != 0)
		end += *end == '\\' && end[1] ? 2 : 1;
	return (size_t)(end - text);
}

/* Finds the value at the start of the text, which may be in quotes. */
static struct secret value_at(const char *text)
{
	static const char *const quotes[] = { "\\\"", "\"", "'" };

	for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
		size_t skip = strlen(quotes[i]);

		if (strncmp(text, quotes[i], skip) == 0)
			return (struct secret){ skip, quoted(text + skip, quotes[i]) };
	}
	return (struct secret){ 0, strcspn(text, " \t\r\n\"'\\&,;<>") };
}

/* Finds `abc` in `=abc`, ` = "abc"`, `": "abc"` and `>abc<`, which follow a word such as "secret". */
static struct secret value_after(const char *text)
{
	size_t skip = strspn(text, " \t\"'\\");
	struct secret secret;

	if (!text[skip] || !strchr("=:>", text[skip]))
		return (struct secret){ 0 };
	skip++;
	skip += strspn(text + skip, " \t");
	secret = value_at(text + skip);
	secret.skip += skip;
	return secret;
}

/* ---- The forms of a secret ---- */

/* The user and the password of a URL. */
static struct secret in_url(const char *text)
{
	size_t login;

	if (strncmp(text, "://", 3) != 0)
		return (struct secret){ 0 };
	login = url_login_bytes(text + 3, strcspn(text + 3, " \"\n"));
	return (struct secret){ 3, login ? login - 1 : 0 };
}

/* "Authorization: AWS4-HMAC-SHA256 Credential=..., Signature=...": all up to the end of the line, or of the
 * string that has the line. */
static struct secret in_header(const char *text)
{
	static const char name[] = "authorization";
	struct secret secret = { 0 };
	const char *end;

	if (strncasecmp(text, name, strlen(name)) == 0)
		secret = value_after(text + strlen(name));
	if (!secret.length)
		return secret;
	secret.skip += strlen(name);
	end = text + secret.skip;
	while (*end && !strchr("\"\r\n", *end) && strncmp(end, "\\n", 2) != 0 && strncmp(end, "\\r", 2) != 0)
		end += *end == '\\' && end[1] ? 2 : 1;
	secret.length = (size_t)(end - text) - secret.skip;
	return secret;
}

/* "Bearer abc" */
static struct secret bearer(const char *text)
{
	static const char name[] = "bearer";
	const size_t skip = strlen(name);
	size_t spaces;

	if (strncasecmp(text, name, skip) != 0 || !(spaces = strspn(text + skip, " \t")))
		return (struct secret){ 0 };
	return (struct secret){ skip + spaces, value_at(text + skip + spaces).length };
}

/* What is between the lines BEGIN and END of a private key in PEM. */
static struct secret private_key(const char *text)
{
	static const char begin[] = "-----BEGIN ", kind[] = "PRIVATE KEY";
	const char *dashes, *end;

	if (strncmp(text, begin, strlen(begin)) != 0 || !(dashes = strstr(text + strlen(begin), "-----")) ||
	    (size_t)(dashes - text) < strlen(begin) + strlen(kind) ||
	    strncmp(dashes - strlen(kind), kind, strlen(kind)) != 0)
		return (struct secret){ 0 };
	dashes += strlen("-----");
	end = strstr(dashes, "-----END");
	return (struct secret){ (size_t)(dashes - text), end ? (size_t)(end - dashes) : strlen(dashes) };
}

/* A value after a word that names a secret. */
static struct secret named(const char *text)
{
	static const char *const words[] = {
		"secret",          "password",   "passwd",    "passphrase",        "token",
		"signature",       "secret_key", "secretkey", "secret_access_key", "secret-access-key",
		"api_key",         "api-key",    "apikey",    "private_key",       "secretaccesskey",
		"x-amz-credential"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct secret secret = { 0 };

		if (strncasecmp(text, words[i], strlen(words[i])) == 0)
			secret = value_after(text + strlen(words[i]));
		if (!secret.length)
			continue;
		secret.skip += strlen(words[i]);
		return secret;
	}
	return (struct secret){ 0 };
}

static struct secret secret_at(const char *text)
{
	static struct secret (*const forms[])(const char *) = { in_url, in_header, bearer, private_key,
								named };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct secret secret = forms[i](text);

		if (secret.length)
			return secret;
	}
	return (struct secret){ 0 };
}

char *redact(const char *text)
{
	CLEANUP(free_ptr) char *out = NULL;
	size_t bytes;
	FILE *file = open_memstream(&out, &bytes);

	if (!file)
		return NULL;
	while (*text) {
		struct secret secret = secret_at(text);

		if (secret.length) {
			(void)fwrite(text, 1, secret.skip, file);
			fputs(BLACK, file);
			text += secret.skip + secret.length;
		} else {
			(void)fputc(*text++, file);
		}
	}
	return fclose(file) == 0 ? TAKE(out) : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config_scan.h"
#include "core/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *file, *at;
	const char *word; /* the last one: before a number it is the number's key */
	int word_length;
	unsigned line;
};

static void advance(struct scan *scan)
{
	if (*scan->at == '\n')
		scan->line++;
	scan->at++;
}

static void skip_line(struct scan *scan)
{
	while (*scan->at && *scan->at != '\n')
		scan->at++;
}

static void skip_comment(struct scan *scan)
{
	scan->at += 2;
	while (*scan->at && !(scan->at[0] == '*' && scan->at[1] == '/'))
		advance(scan);
	if (*scan->at)
		scan->at += 2;
}

static void skip_string(struct scan *scan)
{
	advance(scan);
	while (*scan->at && *scan->at != '"') {
		if (scan->at[0] == '\\' && scan->at[1])
			advance(scan);
		advance(scan);
	}
	if (*scan->at)
		scan->at++;
}

/* A word that starts like a number: an integer must fit, with or without L. */
static int check_number(struct scan *scan, struct error *err)
{
	const char *start = scan->at;
	bool hex = start[0] == '0' && (start[1] == 'x' || start[1] == 'X');
	long long value;
	char *end;
	int length;

	errno = 0;
	value = strtoll(start, &end, hex ? 16 : 10);
	if (end == start) {
		scan->at++;
		return 0;
	}
	if (!hex && (*end == '.' || *end == 'e' || *end == 'E')) {
		(void)strtod(start, &end);
		scan->at = end;
		return 0;
	}
	scan->at = end;
	length = (int)(end - start);
	if (errno == ERANGE)
		return error_set(err, -EINVAL, "%s:%u: %.*s: found %.*s, allowed: integers of 64 bits",
				 scan->file, scan->line, scan->word_length, scan->word, length, start);
	if (*end == 'L') {
		scan->at += strspn(end, "L");
		return 0;
	}
	/* Hexadecimal too: 0xffffffff would become -1. */
	if (value < INT32_MIN || value > INT32_MAX)
		return error_set(
			err, -EINVAL,
			"%s:%u: %.*s: found %.*s, allowed: -2147483648 .. 2147483647, or larger ones with "
			"L behind: %.*sL",
			scan->file, scan->line, scan->word_length, scan->word, length, start, length, start);
	return 0;
}

static void skip_word(struct scan *scan)
{
	scan->word = scan->at;
	while (isalnum((unsigned char)*scan->at) || *scan->at == '_' || *scan->at == '-' || *scan->at == '*')
		scan->at++;
	scan->word_length = (int)(scan->at - scan->word);
}

static unsigned line_at(const char *text, uint64_t at)
{
	unsigned line = 1;

	while (at-- > 0)
		line += text[at] == '\n';
	return line;
}

static int scan_bytes(const char *file, const char *text, uint64_t bytes, struct error *err)
{
	uint64_t valid = utf8_valid_bytes(text, bytes), length = strlen(text);

	if (length < valid)
		return error_set(err, -EINVAL, "%s:%u: found a NUL byte, allowed: text", file,
				 line_at(text, length));
	if (valid < bytes)
		return error_set(err, -EINVAL, "%s:%u: found byte 0x%02x, allowed: text in UTF-8", file,
				 line_at(text, valid), (unsigned char)text[valid]);
	return 0;
}

int config_scan(const char *file, const char *text, uint64_t bytes, struct error *err)
{
	int r = scan_bytes(file, text, bytes, err);
	struct scan scan = { .file = file, .at = text, .word = "", .line = 1 };

	while (r == 0 && *scan.at) {
		unsigned char c = (unsigned char)*scan.at;

		if (c == '#' || (c == '/' && scan.at[1] == '/'))
			skip_line(&scan);
		else if (c == '/' && scan.at[1] == '*')
			skip_comment(&scan);
		else if (c == '"')
			skip_string(&scan);
		else if (c == '@')
			return error_set(err, -EINVAL,
					 "%s:%u: found @include, allowed: one file that holds everything",
					 file, scan.line);
		else if (isdigit(c) || ((c == '-' || c == '+') && isdigit((unsigned char)scan.at[1])))
			r = check_number(&scan, err);
		else if (isalpha(c) || c == '*')
			skip_word(&scan);
		else
			advance(&scan);
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config_scan.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *file, *at;
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
		return error_set(err, -EINVAL, "%s:%u: found %.*s, allowed: integers of 64 bits", scan->file,
				 scan->line, length, start);
	if (*end == 'L') {
		scan->at += strspn(end, "L");
		return 0;
	}
	if (hex ? value > UINT32_MAX : value < INT32_MIN || value > INT32_MAX)
		return error_set(err, -EINVAL,
				 "%s:%u: found %.*s, allowed: -2147483648 .. 2147483647, or larger ones with "
				 "L behind: %.*sL",
				 scan->file, scan->line, length, start, length, start);
	return 0;
}

static void skip_word(struct scan *scan)
{
	while (isalnum((unsigned char)*scan->at) || *scan->at == '_' || *scan->at == '-' || *scan->at == '*')
		scan->at++;
}

int config_scan(const char *file, const char *text, struct error *err)
{
	struct scan scan = { .file = file, .at = text, .line = 1 };

	while (*scan.at) {
		unsigned char c = (unsigned char)*scan.at;
		int r = 0;

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
		if (r < 0)
			return r;
	}
	return 0;
}

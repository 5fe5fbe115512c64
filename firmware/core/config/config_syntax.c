/* SPDX-License-Identifier: Apache-2.0 */
/* Hints for mistakes of syntax. */
#include "core/config/config_reading.h"

#include <ctype.h>
#include <string.h>

#define KEY_MAX   128u /* bytes of a dotted key that gets a hint */
#define SHOWN_MAX 100  /* bytes of the line that are shown */

static bool is_key_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '-' || byte == '.';
}

/* Finds a dotted key that gets a value, such as in "optimizer.learning_rate = 1e-3;". Returns its bytes; 0:
 * the line has none. */
static size_t find_dotted(const char *line, size_t bytes, const char **ret_key)
{
	size_t length, end;

	for (size_t at = 0; at < bytes; at += length + 1) {
		length = 0;
		while (at + length < bytes && is_key_byte(line[at + length]))
			length++;
		end = at + length + strspn(line + at + length, " \t");
		if (length < KEY_MAX && memchr(line + at, '.', length) && isalpha((unsigned char)line[at]) &&
		    end < bytes && (line[end] == '=' || line[end] == ':')) {
			*ret_key = line + at;
			return length;
		}
	}
	return 0;
}

/* Prints the groups that a dotted key stands for: "optimizer: { learning_rate = ...; };". */
static void print_groups(const char *key, size_t length, FILE *out)
{
	unsigned groups = 0;

	for (size_t i = 0; i < length; i++)
		if (key[i] == '.') {
			fputs(": { ", out);
			groups++;
		} else {
			(void)fputc(key[i], out);
		}
	fputs(" = ...; ", out);
	while (groups-- > 0)
		fputs("}; ", out);
}

/* Writes the hint; "" where the line has no dotted key. The caller frees it. NULL: no memory. */
static char *hint_of(const char *line, size_t bytes)
{
	const char *key = NULL;
	const size_t length = find_dotted(line, bytes, &key);
	char *text = NULL;
	size_t size;
	FILE *out;

	if (length == 0)
		return strdup("");
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	fputs(" (a key has no dots here; write groups: ", out);
	print_groups(key, length, out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	text[strlen(text) - 1] = ')'; /* instead of the last space */
	return text;
}

int config_refuse_syntax(const config_t *file, const char *text, struct mistakes *mistakes)
{
	const int line = config_error_line(file);
	CLEANUP(free_ptr) char *hint = NULL;
	int bytes;

	for (int i = 1; i < line && strchr(text, '\n'); i++)
		text = strchr(text, '\n') + 1;
	text += strspn(text, " \t");
	bytes = (int)strcspn(text, "\r\n");
	hint = hint_of(text, (size_t)bytes);
	if (!*text)
		bytes = (int)strlen(text = "at the end of the file");
	mistakes_add(mistakes, (unsigned)line, "%s: %.*s%s", config_error_text(file),
		     bytes < SHOWN_MAX ? bytes : SHOWN_MAX, text, hint ? hint : "");
	return -EINVAL;
}

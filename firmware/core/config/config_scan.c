/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_scan.h"
#include "core/base/url.h"
#include "core/base/utf8.h"
#include "core/config/config_reading.h"

#include <ctype.h>
#include <string.h>

/* Deepest nesting of brackets. A valid key needs 5; the stack of libconfig's parser holds some thousands. */
#define DEPTH_MAX 32
/* Most keys in a group; a valid one has some dozens. libconfig compares each key with all before it. */
#define KEYS_MAX 256u

struct word {
	const char *at;
	int length;
};

struct scan {
	struct mistakes *mistakes;
	const char *at, *copied; /* the text before `copied` is already written to `out` */
	FILE *out;
	struct word word; /* the last word read; when a value follows, this word is the value's key */
	struct {
		struct word name;
		char bracket;
	} open[DEPTH_MAX];
	unsigned keys[DEPTH_MAX + 1]; /* in the group at each depth */
	unsigned line, depth;
	char before;   /* the sign before this token; '"' = a string, '\0' = any other token, or none */
	bool hopeless; /* the text must not be given to libconfig */
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

static bool is_in(const struct scan *scan, const char *brackets)
{
	return scan->depth > 0 && strchr(brackets, scan->open[scan->depth - 1].bracket);
}

/* Tells whether libconfig's grammar allows a string after the token before it. */
static bool string_may_follow(const struct scan *scan)
{
	return scan->before && (strchr("=:[(\"", scan->before) || (scan->before == ',' && is_in(scan, "[(")));
}

static void scan_string(struct scan *scan)
{
	char shown[41];

	if (!string_may_follow(scan)) {
		mistakes_add(scan->mistakes, scan->line,
			     "found the string %s, allowed: a string after = or in a list; is a quote "
			     "missing before it?",
			     url_without_login(scan->at, strcspn(scan->at, "\r\n"), shown, sizeof(shown)));
		scan->hopeless = true;
	}
	advance(scan);
	while (*scan->at && *scan->at != '"') {
		if (scan->at[0] == '\\' && scan->at[1])
			advance(scan);
		advance(scan);
	}
	if (*scan->at)
		scan->at++;
}

static void skip_word(struct scan *scan)
{
	scan->word.at = scan->at;
	while (isalnum((unsigned char)*scan->at) || *scan->at == '_' || *scan->at == '-' || *scan->at == '*')
		scan->at++;
	scan->word.length = (int)(scan->at - scan->word.at);
}

/* Ends the scan of a text that must not be given to libconfig. */
static void give_up(struct scan *scan)
{
	scan->hopeless = true;
	scan->at += strlen(scan->at);
}

static void count_key(struct scan *scan)
{
	if (++scan->keys[scan->depth] <= KEYS_MAX)
		return;
	mistakes_add(scan->mistakes, scan->line, "found more than %u keys in a group, allowed: %u", KEYS_MAX,
		     KEYS_MAX);
	give_up(scan);
}

/* ---- The key of a number ---- */

static void scan_sign(struct scan *scan)
{
	char sign = *scan->at++;

	if (strchr("{([", sign) && scan->depth == DEPTH_MAX) {
		mistakes_add(scan->mistakes, scan->line,
			     "found more than %u brackets in each other, allowed: %u", DEPTH_MAX, DEPTH_MAX);
		give_up(scan);
	} else if (strchr("{([", sign)) {
		scan->open[scan->depth].name = scan->word;
		scan->open[scan->depth++].bracket = sign;
		scan->keys[scan->depth] = 0;
	} else if (strchr("})]", sign) && scan->depth > 0) {
		scan->depth--;
	}
	if (strchr("=:", sign))
		count_key(scan);
	else
		scan->word.length = 0;
}

static const char *key_name(const struct scan *scan, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (unsigned i = 0; i <= scan->depth; i++) {
		struct word word = i < scan->depth ? scan->open[i].name : scan->word;

		if (word.length > 0 && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "." : "",
						 word.length, word.at);
	}
	return out;
}

static const struct config_key *key_of(const char *name)
{
	if (strncmp(name, "schema.", 7) == 0)
		return config_find_key(config_feature_keys, config_feature_keys_count, "", name + 7);
	if (strncmp(name, "preprocess.", 11) == 0)
		return config_find_key(config_preprocess_keys, config_preprocess_keys_count, "", name + 11);
	if (strncmp(name, "sources.", 8) == 0)
		return config_find_key(config_source_keys, config_source_keys_count, "", name + 8);
	return config_find_key(config_keys, config_keys_count, "", name);
}

/* ---- Numbers ---- */

/* Adds a mistake about an integer. `allowed`: the words for the allowed values where the number belongs to no
 * known key. */
static void note_integer(struct scan *scan, const char *start, const char *end, const char *allowed,
			 const char *advice)
{
	char name[128], bounds[256];
	const struct config_key *key = key_of(key_name(scan, name, sizeof(name)));

	if (key)
		config_allowed(key, bounds, sizeof(bounds));
	mistakes_add(scan->mistakes, scan->line, "%s: found %.*s, allowed: %s%s", name, (int)(end - start),
		     start, key ? bounds : allowed, advice);
}

static bool in_bounds(const struct scan *scan, long long value)
{
	char name[128];
	const struct config_key *key = key_of(key_name(scan, name, sizeof(name)));

	return key && (key->type == KEY_INT || key->type == KEY_FLOAT) && (double)value >= key->min &&
	       (double)value <= key->max;
}

/* Checks an integer and adds a missing L. Hexadecimal integers are checked, too: libconfig would read
 * 0xffffffff as -1. */
static void check_integer(struct scan *scan, const char *start, const char *end, long long value, bool beyond)
{
	bool would_wrap = *end != 'L' && (value < INT32_MIN || value > INT32_MAX);

	scan->at = end + strspn(end, "L");
	/* No L can be added in an array: libconfig refuses arrays of integers with and without L. */
	if (beyond || (would_wrap && is_in(scan, "["))) {
		note_integer(scan, start, end, beyond ? "integers of 64 bits" : "integers of 32 bits", "");
		scan->hopeless = true;
	} else if (would_wrap) {
		if (in_bounds(scan, value))
			note_integer(scan, start, end, "", ", with an L after it beyond 32 bits");
		(void)fwrite(scan->copied, 1, (size_t)(end - scan->copied), scan->out);
		(void)fputc('L', scan->out);
		scan->copied = end;
	}
}

/* Scans a number. The number is a float only if a float is longer than an integer at this place: libconfig
 * reads "5epochs" as the integer 5. */
static void scan_number(struct scan *scan)
{
	const char *start = scan->at;
	bool hex = start[0] == '0' && (start[1] == 'x' || start[1] == 'X');
	char *end, *float_end;
	long long value;
	bool beyond;

	errno = 0;
	value = strtoll(start, &end, hex ? 16 : 10);
	beyond = errno == ERANGE;
	if (!hex && (end == start || *end == '.' || *end == 'e' || *end == 'E')) {
		(void)strtod(start, &float_end);
		if (float_end > end || end == start) {
			scan->at = float_end > start ? float_end : start + 1;
			return;
		}
	}
	check_integer(scan, start, end, value, beyond);
}

/* Tells whether the text begins like a number: [-+]?[.]?[0-9] */
static bool starts_number(const char *at)
{
	at += *at == '-' || *at == '+';
	at += *at == '.';
	return isdigit((unsigned char)*at);
}

/* ---- The text ---- */

static unsigned line_at(const char *text, uint64_t at)
{
	unsigned line = 1;

	while (at-- > 0)
		line += text[at] == '\n';
	return line;
}

static int scan_bytes(const char *text, uint64_t bytes, struct mistakes *mistakes)
{
	uint64_t valid = utf8_valid_bytes(text, bytes), length = strlen(text);

	if (length < valid)
		mistakes_add(mistakes, line_at(text, length), "found a NUL byte, allowed: text");
	else if (valid < bytes)
		mistakes_add(mistakes, line_at(text, valid), "found byte 0x%02x, allowed: text in UTF-8",
			     (unsigned char)text[valid]);
	return length < valid || valid < bytes ? -EINVAL : 0;
}

/* Skips a comment or white space. False: a token begins here. */
static bool skip_gap(struct scan *scan)
{
	char c = *scan->at;

	if (c == '#' || (c == '/' && scan->at[1] == '/'))
		skip_line(scan);
	else if (c == '/' && scan->at[1] == '*')
		skip_comment(scan);
	else if (strchr(" \t\r\n\f", c))
		advance(scan);
	else
		return false;
	return true;
}

static void scan_token(struct scan *scan)
{
	char c = *scan->at;

	if (c == '"') {
		scan_string(scan);
	} else if (c == '@') {
		mistakes_add(scan->mistakes, scan->line,
			     "found @include, allowed: one file that holds everything");
		scan->hopeless = true;
		skip_line(scan);
	} else if (starts_number(scan->at)) {
		scan_number(scan);
	} else if (isalpha((unsigned char)c) || c == '*') {
		skip_word(scan);
	} else if (strchr("{([])}=:;,", c)) {
		scan_sign(scan);
	} else {
		advance(scan);
	}
	scan->before = strchr("\"{([])}=:;,", c) ? c : '\0';
}

int config_scan(const char *text, uint64_t bytes, struct mistakes *mistakes, char **ret_text)
{
	struct scan scan = { .mistakes = mistakes, .at = text, .copied = text, .word = { "", 0 }, .line = 1 };
	CLEANUP(free_ptr) char *copy = NULL;
	size_t copy_bytes;
	int r = scan_bytes(text, bytes, mistakes);

	if (r < 0)
		return r;
	scan.out = open_memstream(&copy, &copy_bytes);
	if (!scan.out)
		return error_set(mistakes->err, -ENOMEM, "%s: no memory", mistakes->file);
	while (*scan.at)
		if (!skip_gap(&scan))
			scan_token(&scan);
	(void)fputs(scan.copied, scan.out);
	if (bytes > 0 && text[bytes - 1] != '\n')
		(void)fputc('\n', scan.out);
	if (fclose(scan.out) != 0)
		return error_set(mistakes->err, -ENOMEM, "%s: no memory", mistakes->file);
	if (scan.hopeless)
		return -EINVAL;
	*ret_text = TAKE(copy);
	return 0;
}

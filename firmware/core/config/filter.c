/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[FILTER_OPS] = { [FILTER_EQ] = "==", [FILTER_NE] = "!=", [FILTER_LE] = "<=",
					     [FILTER_LT] = "<",  [FILTER_GE] = ">=", [FILTER_GT] = ">" };

#define NAME_ENDS " \t[]=!<>\"(),"
#define NONE      UINT16_MAX

/* The condition while it is read. Names and texts are read from `text`, and end in the copy. */
struct parser {
	const char *text, *at;
	struct filter *filter;
};

static void skip_space(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t");
}

static bool take_sign(struct parser *parser, char sign)
{
	if (*parser->at != sign)
		return false;
	parser->at++;
	skip_space(parser);
	return true;
}

#define BEFORE_ONE  " \t("  /* signs that may follow `not`, `and` and `or`; the end may, too */
#define BEFORE_LIST " \t([" /* signs that may follow `in` */

/* Reads a word such as `and`, unless it is the name of a feature that is compared. `followers`: the signs
 * that may follow it. */
static bool take_word(struct parser *parser, const char *word, const char *followers)
{
	const size_t bytes = strlen(word);
	const char *next = parser->at + bytes;

	if (strncmp(parser->at, word, bytes) != 0 || (*next && !strchr(followers, *next)))
		return false;
	next += strspn(next, " \t");
	if (*next && strchr("=!<>", *next))
		return false;
	parser->at = next;
	return true;
}

/* Ends the name or text of `bytes` bytes at the place of the parser. Returns its place. */
static uint16_t end_text(const struct parser *parser, size_t bytes)
{
	const size_t place = (size_t)(parser->at - parser->text);

	parser->filter->text[place + bytes] = '\0';
	return (uint16_t)place;
}

static uint16_t add_node(const struct parser *parser, enum filter_kind kind, uint16_t left, uint16_t right)
{
	struct filter *filter = parser->filter;

	if (left == NONE || right == NONE || filter->nodes == sizeof(filter->node) / sizeof(filter->node[0]))
		return NONE;
	filter->node[filter->nodes] = (struct filter_node){ (uint8_t)kind, left, right };
	return (uint16_t)filter->nodes++;
}

/* ---- Comparisons ---- */

static bool read_name(struct parser *parser, struct filter_term *term)
{
	const size_t bytes = strcspn(parser->at, NAME_ENDS);

	if (bytes == 0)
		return false;
	term->name_at = end_text(parser, bytes);
	parser->at += bytes;
	skip_space(parser);
	return true;
}

static bool read_index(struct parser *parser, struct filter_term *term)
{
	char *end;
	unsigned long index;

	if (*parser->at != '[')
		return true;
	if (!isdigit((unsigned char)parser->at[1]))
		return false;
	index = strtoul(parser->at + 1, &end, 10);
	term->indexed = true;
	term->index = (uint32_t)index;
	parser->at = end;
	return index <= FILTER_INDEX_MAX && take_sign(parser, ']');
}

static bool read_op(struct parser *parser, struct filter_term *term)
{
	for (int op = 0; op < FILTER_OPS; op++)
		if (strncmp(parser->at, ops[op], strlen(ops[op])) == 0) {
			term->op = (enum filter_op)op;
			parser->at += strlen(ops[op]);
			skip_space(parser);
			return true;
		}
	return false;
}

static bool read_text(struct parser *parser, struct filter_term *term)
{
	const char *end = strchr(parser->at + 1, '"');

	if (!end || term->indexed || term->op > FILTER_NE)
		return false;
	parser->at++;
	term->is_text = true;
	term->text_at = end_text(parser, (size_t)(end - parser->at));
	parser->at = end + 1;
	skip_space(parser);
	return true;
}

/* Returns whether a number ends here. */
static bool ends_number(char sign)
{
	return !sign || strchr(" \t),]", sign);
}

static bool read_number(struct parser *parser, struct filter_term *term)
{
	const char *at = parser->at;
	char *end;

	if (!isdigit((unsigned char)at[strspn(at, "+-.")]))
		return false;
	errno = 0;
	term->whole = strtoll(at, &end, 10);
	term->is_whole = errno == 0 && end > at && ends_number(*end);
	term->number = strtod(at, &end);
	if (end == at || !ends_number(*end))
		return false;
	parser->at = end;
	skip_space(parser);
	return true;
}

/* Reads a value, and adds the comparison with it. */
static uint16_t add_term(struct parser *parser, struct filter_term term)
{
	struct filter *filter = parser->filter;

	if (filter->terms == FILTER_TERMS_MAX ||
	    !(*parser->at == '"' ? read_text(parser, &term) : read_number(parser, &term)))
		return NONE;
	filter->term[filter->terms] = term;
	return add_node(parser, FILTER_TERM, (uint16_t)filter->terms++, 0);
}

/* Reads the list of `in`: the feature is equal to one of the values. */
static uint16_t read_list(struct parser *parser, const struct filter_term *term)
{
	uint16_t any;

	if (!take_sign(parser, '['))
		return NONE;
	any = add_term(parser, *term);
	while (any != NONE && take_sign(parser, ','))
		any = add_node(parser, FILTER_OR, any, add_term(parser, *term));
	return take_sign(parser, ']') ? any : NONE;
}

static uint16_t read_comparison(struct parser *parser)
{
	struct filter_term term = { .op = FILTER_EQ };

	if (!read_name(parser, &term))
		return NONE;
	if (take_word(parser, "in", BEFORE_LIST))
		return read_list(parser, &term);
	if (take_word(parser, "not", BEFORE_ONE))
		return take_word(parser, "in", BEFORE_LIST)
			       ? add_node(parser, FILTER_NOT, read_list(parser, &term), 0)
			       : NONE;
	if (!read_index(parser, &term))
		return NONE;
	if (take_word(parser, "in", BEFORE_LIST))
		return read_list(parser, &term);
	return read_op(parser, &term) ? add_term(parser, term) : NONE;
}

/* ---- Joined comparisons ---- */

/* The depth of the recursion is at most the length of the text. */
static uint16_t read_any(struct parser *parser);

static uint16_t read_one(struct parser *parser) // NOLINT(misc-no-recursion)
{
	uint16_t inner;

	if (take_word(parser, "not", BEFORE_ONE))
		return add_node(parser, FILTER_NOT, read_one(parser), 0);
	if (!take_sign(parser, '('))
		return read_comparison(parser);
	inner = read_any(parser);
	return take_sign(parser, ')') ? inner : NONE;
}

static uint16_t read_all(struct parser *parser) // NOLINT(misc-no-recursion)
{
	uint16_t all = read_one(parser);

	while (all != NONE && take_word(parser, "and", BEFORE_ONE))
		all = add_node(parser, FILTER_AND, all, read_one(parser));
	return all;
}

static uint16_t read_any(struct parser *parser) // NOLINT(misc-no-recursion)
{
	uint16_t any = read_all(parser);

	while (any != NONE && take_word(parser, "or", BEFORE_ONE))
		any = add_node(parser, FILTER_OR, any, read_all(parser));
	return any;
}

bool filter_parse(const char *text, struct filter *ret_filter)
{
	struct filter filter = { 0 };
	struct parser parser = { text, text, &filter };

	if (strlen(text) >= FILTER_BYTES)
		return false;
	memcpy(filter.text, text, strlen(text));
	skip_space(&parser);
	if (read_any(&parser) == NONE || *parser.at)
		return false;
	*ret_filter = filter;
	return true;
}

const char *filter_name(const struct filter *filter, const struct filter_term *term)
{
	return filter->text + term->name_at;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[FILTER_OPS] = { [FILTER_EQ] = "==", [FILTER_NE] = "!=", [FILTER_LE] = "<=",
					     [FILTER_LT] = "<",  [FILTER_GE] = ">=", [FILTER_GT] = ">" };

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t");
}

/* Reads a feature's name, which ends before a space, a bracket, a quote or an operator. */
static bool read_name(const char **at, struct filter *filter)
{
	size_t bytes = strcspn(*at, " \t[=!<>\"");

	if (bytes == 0 || bytes >= sizeof(filter->name))
		return false;
	memcpy(filter->name, *at, bytes);
	*at = skip_space(*at + bytes);
	return true;
}

static bool read_index(const char **at, struct filter *filter)
{
	char *end;
	unsigned long index;

	if (**at != '[')
		return true;
	if (!isdigit((unsigned char)(*at)[1]))
		return false;
	index = strtoul(*at + 1, &end, 10);
	filter->indexed = true;
	filter->index = (uint32_t)index;
	if (*end != ']' || index > FILTER_INDEX_MAX)
		return false;
	*at = skip_space(end + 1);
	return true;
}

static bool read_op(const char **at, struct filter *filter)
{
	for (int op = 0; op < FILTER_OPS; op++)
		if (strncmp(*at, ops[op], strlen(ops[op])) == 0) {
			filter->op = (enum filter_op)op;
			*at = skip_space(*at + strlen(ops[op]));
			return true;
		}
	return false;
}

static bool read_text(const char *at, struct filter *filter)
{
	const char *end = strchr(at + 1, '"');
	size_t bytes = end ? (size_t)(end - at) - 1 : 0;

	if (!end || *skip_space(end + 1) || filter->indexed || filter->op > FILTER_NE ||
	    bytes >= sizeof(filter->text))
		return false;
	filter->is_text = true;
	memcpy(filter->text, at + 1, bytes);
	return true;
}

static bool read_number(const char *at, struct filter *filter)
{
	char *end;

	if (!isdigit((unsigned char)at[strspn(at, "+-.")]))
		return false;
	errno = 0;
	filter->whole = strtoll(at, &end, 10);
	filter->is_whole = errno == 0 && end > at && !*skip_space(end);
	filter->number = strtod(at, &end);
	return end > at && !*skip_space(end);
}

bool filter_parse(const char *text, struct filter *ret_filter)
{
	struct filter filter = { 0 };
	const char *at = skip_space(text);

	if (strlen(text) >= FILTER_BYTES || !read_name(&at, &filter) || !read_index(&at, &filter) ||
	    !read_op(&at, &filter) || !(*at == '"' ? read_text(at, &filter) : read_number(at, &filter)))
		return false;
	*ret_filter = filter;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/http/range.h"

#include <errno.h>
#include <stdbool.h>
#include <strings.h>

/* Accepts only digits. strtoull() would accept signs and spaces, too. */
static bool read_number(const char **text, uint64_t *ret_value)
{
	const char *at = *text;
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (unsigned)(*at - '0'), &value))
			return false;
	*text = at;
	*ret_value = value;
	return value != HTTP_RANGE_UNKNOWN;
}

static bool skip(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

int http_range_parse(const char *text, struct http_range *ret_range)
{
	struct http_range range = { HTTP_RANGE_UNKNOWN, HTTP_RANGE_UNKNOWN, HTTP_RANGE_UNKNOWN };

	if (strncasecmp(text, "bytes ", 6) != 0)
		return -EBADMSG;
	text += 6;
	if (!skip(&text, '*') && (!read_number(&text, &range.first) || !skip(&text, '-') ||
				  !read_number(&text, &range.last) || range.last < range.first))
		return -EBADMSG;
	if (!skip(&text, '/') || (!skip(&text, '*') && !read_number(&text, &range.total)) || *text)
		return -EBADMSG;
	if (range.first != HTTP_RANGE_UNKNOWN && range.last >= range.total)
		return -EBADMSG;
	*ret_range = range;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the header Content-Range (RFC 9110 14.4). */
#pragma once

#include <stdint.h>

#define HTTP_RANGE_UNKNOWN UINT64_MAX

struct http_range {
	/* first and last byte; both are HTTP_RANGE_UNKNOWN for a 416 answer */
	uint64_t first, last;
	uint64_t total; /* bytes of the whole object; HTTP_RANGE_UNKNOWN where the server says '*' */
};

/* Errors: -EBADMSG the text is not a valid Content-Range. */
int http_range_parse(const char *text, struct http_range *ret_range);

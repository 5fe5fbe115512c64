/* SPDX-License-Identifier: Apache-2.0 */
/* Content-Range, RFC 9110 14.4. */
#pragma once

#include <stdint.h>

#define HTTP_RANGE_UNKNOWN UINT64_MAX

struct http_range {
	uint64_t first, last; /* unknown in a 416 answer: "bytes * /1234" without the space */
	uint64_t total;       /* size of the whole object; unknown when the server says '*' */
};

/* Errors: -EBADMSG. */
int http_range_parse(const char *text, struct http_range *ret_range);

/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input, line by line. */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct lines {
	char *text; /* the current line, without its end; owned */
	size_t capacity, bytes;
	uint64_t number; /* the current line, from 1 */
	bool again;      /* lines_next() stays at the current line once: set after a look ahead */
};

/* Reads the next line. Returns false at the end of the input. */
bool lines_next(struct lines *lines);
/* Parses the current line as one JSON object. Errors: -EBADMSG names the line and what was found. */
MUST_CHECK int lines_object(const struct lines *lines, cJSON **ret_object, struct error *err);
void lines_done(struct lines *lines); /* for CLEANUP() */

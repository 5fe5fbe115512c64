/* SPDX-License-Identifier: Apache-2.0 */
/* Reads standard input, or a file, line by line. */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lines {
	FILE *file; /* where the lines come from; NULL = standard input; borrowed */
	char *text; /* the current line, without its line end; owned */
	size_t capacity, bytes;
	uint64_t number; /* number of the current line, counted from 1 */
	bool again; /* the next lines_next() returns the current line again, because the caller only looked
		       ahead */
};

/* Reads the next line. Returns false at the end of the input. */
bool lines_next(struct lines *lines);
/* Parses the current line as one JSON object. Errors: -EBADMSG with the line number and what was found. */
MUST_CHECK int lines_object(const struct lines *lines, cJSON **ret_object, struct error *err);
void lines_done(struct lines *lines); /* for CLEANUP() */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input, line by line.
 */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct lines {
	char *text; /* of this line, without its end; owned */
	size_t room, bytes;
	uint64_t number; /* from 1 */
	bool again;      /* the next line is this one: set by who only looked at it */
};

/* False: there is none left. */
bool lines_next(struct lines *lines);
/* This line, which holds one JSON object. Errors: -EBADMSG names the line and what was found. */
MUST_CHECK int lines_object(const struct lines *lines, cJSON **ret_object, struct error *err);
void lines_done(struct lines *lines); /* for CLEANUP() */

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table that a program reads itself, one after the other, for records.h. */
#pragma once

#include "core/base/json.h"

struct rows {
	const char *source; /* the name of the input, for messages */
	char *const *name;  /* the columns that every row has; NULL: a row is an object of JSON lines */
	uint32_t names;
	bool *unread; /* unread[c]: the model does not need column c, and next() may leave it out */
	/* Reads the next row, an object with the columns as members, and its line, counted from 1. Owns: the
	 * caller frees the object. Returns 1; 0 behind the last row. Errors: -EBADMSG with the line and
	 * what was found; those of reading. */
	int (*next)(struct rows *rows, cJSON **ret_row, uint64_t *ret_line, struct error *err);
};

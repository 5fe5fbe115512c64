/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts through an encoder: the project's own (data/text.h), or a user's program, which only the command line
 * runs.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define ENCODE_EXEC "exec:"

struct encode_text {
	const char *text;
	uint64_t bytes;
};

/* A user's program: gets one JSON string a line on standard input (U+FFFD for what is not UTF-8), answers
 * `dims` numbers a line, parted by white space or commas, perhaps in brackets. `command` is run by /bin/sh.
 * `vectors` is rows x dims. Errors: -EBADMSG naming the line, what was found and expected; -ENODATA fewer
 * lines than texts; -EIO the program failed. */
MUST_CHECK int encode_exec(const char *command, const struct encode_text *texts, uint32_t rows, uint32_t dims,
			   float *vectors, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes texts by a program of the user. The project's own encoder is data/text.h. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define ENCODE_EXEC "exec:"

struct encode_text {
	const char *text;
	uint64_t bytes;
};

/* Runs `command` by /bin/sh. The program gets one JSON string a line on standard input (U+FFFD stands for
 * bytes that are not UTF-8) and answers `dims` numbers a line, separated by white space or commas, with or
 * without brackets. `vectors` holds rows x dims numbers. Blocks until the program has ended. Errors: -EBADMSG
 * naming the line, what was found and expected; -ENODATA fewer lines than texts; -EIO the program failed. */
MUST_CHECK int encode_exec(const char *command, const struct encode_text *texts, uint32_t rows, uint32_t dims,
			   float *vectors, struct error *err);

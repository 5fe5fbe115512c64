/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes texts with a program of the user. Kiln's own encoder is data/text.h; encode_bert.h is a pretrained
 * one. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define ENCODE_EXEC "exec:"

struct encode_text {
	const char *text;
	uint64_t bytes;
};

/* Runs `command` with /bin/sh. The program reads JSON strings from standard input, one per line (U+FFFD
 * replaces bytes that are not UTF-8). For each line it prints one line of `dims` numbers, separated by white
 * space or commas, with or without brackets. `vectors`: memory for rows x dims numbers. Blocks until the
 * program has ended. Errors: -EBADMSG a wrong line, with its number, what was found and what was expected;
 * -ENODATA fewer lines than texts; -EIO the program failed. */
MUST_CHECK int encode_exec(const char *command, const struct encode_text *texts, uint32_t rows, uint32_t dims,
			   float *vectors, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of one input: a file, an object of a store, standard input ("-"), or what a program prints
 * ("exec:PROGRAM", run by /bin/sh). gzip and zstd are recognised by the first bytes. An object of S3 is
 * copied to a temporary file first. One thread at a time.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <stdint.h>

#define INPUT_EXEC "exec:"

struct input;

/* `where`: the store of a URL. Owns: the caller calls input_close(). Errors: those of a store and of open(2).
 */
MUST_CHECK int input_open(const struct config_store *where, const char *name, struct input **ret_input,
			  struct error *err);

/* Reads the next bytes, as many as there are room for; *ret_bytes is less at the end only. Errors: -EBADMSG
 * the compressed bytes are damaged; -EIO the program failed; those of read(2). */
MUST_CHECK int input_read(struct input *input, char *data, uint64_t bytes, uint64_t *ret_bytes,
			  struct error *err);

/* Closes the input before its end, too: a program then gets SIGPIPE. */
void input_close(struct input *input);

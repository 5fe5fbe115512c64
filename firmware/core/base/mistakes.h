/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of all mistakes in one file, a line each: "FILE:LINE: KEY: found ..., allowed: ...". So a person
 * can correct all mistakes before the next try. Order: set `file`, and `out` or `err` or both ->
 * mistakes_add()*.
 */
#pragma once

#include "core/base/error.h"

struct mistakes {
	const char *file;
	FILE *out;         /* every mistake is printed here; may be NULL */
	struct error *err; /* set to -EINVAL, with as many mistakes as fit, then the number of the others; may
			      be NULL */
	/* Where it is not NULL it gets each mistake, in place of `out` and `err`. */
	void (*hear)(void *listener, unsigned line, const char *text);
	void *listener;
	unsigned count;
	/* Private to mistakes_add(): */
	size_t text_bytes;
	unsigned left_out;
};

void mistakes_add(struct mistakes *mistakes, unsigned line, const char *format, ...) PRINTF(3, 4);

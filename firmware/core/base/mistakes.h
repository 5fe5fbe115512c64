/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of all mistakes in one file, a line each: "FILE:LINE: KEY: found ..., allowed: ...". A person can
 * then mend all of them at once.
 * Order: initialise with the file and with `out`, `err` or both -> mistakes_add()*.
 */
#pragma once

#include "core/base/error.h"

struct mistakes {
	const char *file;
	FILE *out;         /* gets every mistake, or NULL */
	struct error *err; /* gets -EINVAL, the mistakes that fit, and how many more there are; or NULL */
	unsigned count;
	/* Private to mistakes_add(): */
	size_t text_bytes;
	unsigned left_out;
};

void mistakes_add(struct mistakes *mistakes, unsigned line, const char *format, ...) PRINTF(3, 4);

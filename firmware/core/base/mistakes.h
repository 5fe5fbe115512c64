/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything wrong with one file in one go, a line each: "FILE:LINE: KEY: found ..., allowed: ...".
 * Order: one with a file and whatever should hear of mistakes -> mistakes_add*.
 */
#pragma once

#include "core/base/error.h"

struct mistakes {
	const char *file;
	FILE *out;         /* gets every one; NULL: nobody does */
	struct error *err; /* gets -EINVAL and those that fit, then how many there are besides; or NULL */
	unsigned count;
	/* mistakes_add()'s */
	size_t text_bytes;
	unsigned left_out;
};

void mistakes_add(struct mistakes *mistakes, unsigned line, const char *format, ...) PRINTF(3, 4);

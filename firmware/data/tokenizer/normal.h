/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normaliser of BERT, in its order: control characters are removed and white space becomes " "; Chinese
 * characters get spaces around them; letters are decomposed (Unicode's NFD) and lose their accents; letters
 * become small. For data/tokenizer/ only.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define NORMAL_GROWTH 5u  /* bytes of the result for one byte of the text, at most */
#define NORMAL_DROP   255 /* in `ascii`: the character is removed */

struct normal {
	bool clean, chinese, accents, lower; /* accents: decompose, and remove the accents */
	uint8_t ascii[128]; /* each ASCII character after the normalisation, or NORMAL_DROP */
};

/* Marks that stay and wait for the end of their run, to be sorted. */
struct normal_marks {
	uint64_t *mark;
	uint64_t marks, capacity;
};

/* Sets `ascii` from the other members. */
void normal_prepare(struct normal *normal);

/* Normalises a text of well-formed UTF-8. `out` has NORMAL_GROWTH times its bytes. Returns the bytes of the
 * result. Errors: -ENOMEM. */
MUST_CHECK int64_t normal_text(const struct normal *normal, struct normal_marks *marks, const char *text,
			       uint64_t bytes, char *out);
void normal_marks_done(struct normal_marks *marks);

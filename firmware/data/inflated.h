/* SPDX-License-Identifier: Apache-2.0 */
/* A whole shard without its compression, in memory of its own. Pure functions on bytes; one thread. */
#pragma once

#include "data/inflate.h"

struct inflated {
	const uint8_t *data; /* the shard's own bytes where it is not compressed, else those of `buffer` */
	uint64_t bytes;
	struct inflater *inflater; /* NULL before the first compressed shard */
	uint8_t *buffer;
	uint64_t capacity;
};

/* Inflates a shard where it is compressed, to at most `max` bytes. *inflated is zero at first, and used again
 * from shard to shard. A shard that is not compressed must live as long as its `data` is read.
 * Errors: those of inflate_into(); with -EBADMSG `data` and `bytes` are the bytes before the fault. */
MUST_CHECK int inflated_set(struct inflated *inflated, const void *shard, uint64_t bytes, uint64_t max,
			    struct error *err);
void inflated_done(struct inflated *inflated); /* leaves it zero */

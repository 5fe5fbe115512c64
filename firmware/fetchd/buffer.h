/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What windows lie in: in memory while all of them together stay below fetch.memory_bytes, else in a mapping
 * of a file without a name below the cache folder, whose blocks are taken beforehand. Kept from window to
 * window. A buffer belongs to one thread at a time; the account is everyone's.
 */
#pragma once

#include "data/inflate.h"

#include <stdatomic.h>

struct budget {
	uint64_t max;
	atomic_uint_fast64_t memory, spilled; /* bytes in use */
	/* Who may give room on a full disk, or NULL: waits; true where some was given. */
	bool (*make_room)(void *context, uint64_t bytes);
	void *context;
};

struct buffer {
	struct inflate_output output; /* its data and capacity */
	struct budget *budget;
	bool spilled;
};

/* Room for `bytes` bytes, the first `used` of which stay; budget->make_room is called for a full disk.
 * Errors: -ENOSPC and the like, naming the folder, how much was wanted and fetch.memory_bytes; -ENOMEM. The
 * buffer is as it was then. */
MUST_CHECK int buffer_grow(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err);
/* The same, but a full disk is left as it is: for who must not wait. */
MUST_CHECK int buffer_try(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err);
bool buffer_lacks_disk(int r); /* that error, of both */
/* Empty, as after buffer_init(). Accepts a zeroed one. */
void buffer_drop(struct buffer *buffer);
/* The bytes leave the account: the caller's, to be dropped. The buffer is empty. */
struct buffer buffer_take(struct buffer *buffer);
void buffer_init(struct buffer *buffer, struct budget *budget);

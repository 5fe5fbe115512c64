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
	struct inflate_output
		output; /* its data; its capacity, which is in the account: none while it rests */
	uint64_t room;  /* of the place at its data: it grows so far without another */
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
/* Nothing of it is needed, and so many bytes may be soon: a place for them, of no account yet. Without memory
 * there is none. */
void buffer_expect(struct buffer *buffer, uint64_t bytes);
/* Empty, as after buffer_init(). Accepts a zeroed one. */
void buffer_drop(struct buffer *buffer);
/* Its memory is the kernel's again and leaves the account, its place stays. One on disk is dropped. */
void buffer_rest(struct buffer *buffer);
/* The bytes leave the account: the caller's, to rest or to be dropped. The buffer goes on with `place`, one
 * that rests or is empty. */
struct buffer buffer_take(struct buffer *buffer, struct buffer place);
void buffer_init(struct buffer *buffer, struct budget *budget);
/* One that rests, with so much room, of no account; without memory, one of none. */
struct buffer buffer_place(uint64_t bytes);

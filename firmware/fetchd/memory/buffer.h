/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that hold the shards of windows, and the budget that they share.
 *
 * A buffer lies in memory while all buffers together stay below budget->max (a share of fetch.memory_bytes).
 * Beyond that it lies in a mapping of an unnamed file below the cache folder ("spilled"), whose disk blocks
 * are allocated beforehand: a full disk is then an error here, and no SIGBUS later.
 *
 * Why buffers are reused: shards of a run are about equally large, and mapping and clearing pages costs more
 * CPU time than filling them. A buffer therefore keeps its memory from shard to shard. Between shards it can
 * rest: its pages go back to the kernel and leave the account, its addresses stay.
 *
 * Threads: a buffer belongs to one thread at a time; the account is atomic and everyone's.
 * After a crash nothing is left: memory ends with the process, a spilled file has no name.
 */
#pragma once

#include "data/inflate.h"

#include <stdatomic.h>

struct budget {
	uint64_t max;
	atomic_uint_fast64_t memory, spilled; /* bytes in use */
	/* Frees space on a full disk; NULL = not possible. Blocks; true when some space was freed. */
	bool (*free_disk)(void *context, uint64_t bytes);
	void *context;
};

struct buffer {
	struct inflate_output output; /* data, and capacity: the bytes on the account, 0 while it rests */
	uint64_t allocated;           /* bytes at output.data: the buffer grows to this without moving */
	struct budget *budget;
	bool spilled;
};

/* Makes an empty buffer on this budget. */
void buffer_init(struct buffer *buffer, struct budget *budget);

/* Grows to `bytes` bytes; the first `used` bytes stay.
 * Blocks: on a full disk, in budget->free_disk().
 * Errors: -ENOSPC and -EDQUOT, naming the folder, the bytes and fetch.memory_bytes; -ENOMEM. The buffer is
 * unchanged then. */
MUST_CHECK int buffer_grow(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err);

/* buffer_grow() without the wait: a full disk is an error at once. */
MUST_CHECK int buffer_try(struct buffer *buffer, uint64_t used, uint64_t bytes, struct error *err);

/* Whether a result of buffer_grow() or buffer_try() means that the disk is full. */
bool buffer_lacks_disk(int r);

/* Allocates memory for later, outside the account; drops the content. Without memory the buffer stays empty.
 */
void buffer_expect(struct buffer *buffer, uint64_t bytes);

/* Gives the pages back to the kernel and leaves the account; the addresses stay. A spilled buffer is dropped.
 */
void buffer_rest(struct buffer *buffer);

/* Frees everything: the buffer is then as after buffer_init(). Accepts a zeroed buffer. */
void buffer_drop(struct buffer *buffer);

/* Hands the bytes over to the caller, off the account, to be rested or dropped later. The buffer goes on with
 * `spare`, which rests or is empty. */
struct buffer buffer_take(struct buffer *buffer, struct buffer spare);

/* Returns a resting buffer of `bytes` bytes on no budget, for buffer_take(); an empty one without memory. */
struct buffer buffer_spare(uint64_t bytes);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole shards in and out of gzip and zlib. Pure functions on bytes.
 *
 * Inflating is libdeflate's work, the fastest of three on shards of Examples (tests/bench/inflate.c), which
 * knows only whole members; zlib reads a broken one as far as it is good.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZLIB };

/* What the first bytes of a shard say. A plain TFRecord is recognised by its length CRC; gzip by 1f 8b 08;
 * zlib by its header check. */
enum compression compression_of(const void *data, uint64_t bytes);

/* What inflating needs besides the buffers, kept from shard to shard: one a thread. Errors: -ENOMEM. */
struct inflater;
MUST_CHECK int inflater_open(struct inflater **ret_inflater, struct error *err);
void inflater_closep(struct inflater **inflater); /* for CLEANUP(); accepts one of NULL */

/* Where inflated bytes go: `capacity` bytes at `data`, NULL and 0 at first, kept from shard to shard. `grow`
 * makes room for `bytes` bytes, the first `used` of which stay; *output is as it was when it fails. */
struct inflate_output {
	uint8_t *data;
	uint64_t capacity;
	int (*grow)(struct inflate_output *output, uint64_t used, uint64_t bytes, struct error *err);
};

/* Inflate a whole shard (concatenated gzip members included), at most `max` bytes of it, into *output, which
 * is made larger when needed, never beyond `max` (nothing else is allocated for a good shard). Errors:
 * -EBADMSG truncated or corrupt: the sentence says where, and the first *ret_bytes of the output are what
 * came before; behind a wrong CRC of a whole stream that is all of it, so only the records' own CRCs vouch
 * for it. -E2BIG more than `max`; those of `grow`. */
MUST_CHECK int inflate_to(struct inflater *inflater, const void *data, uint64_t bytes,
			  enum compression compression, uint64_t max, struct inflate_output *output,
			  uint64_t *ret_bytes, struct error *err);

/* The same into *capacity bytes of malloc'ed memory, which stay the caller's also on failure; -ENOMEM. */
MUST_CHECK int inflate_into(struct inflater *inflater, const void *data, uint64_t bytes,
			    enum compression compression, uint64_t max, uint8_t **buffer, uint64_t *capacity,
			    uint64_t *ret_bytes, struct error *err);

/* Gzip or zlib in one piece (`level` 1..9; gzip without name and time: same bytes every time) into malloc'ed
 * memory. Errors: -E2BIG more than 1 GiB; -ENOMEM. */
MUST_CHECK int deflate_all(const void *data, uint64_t bytes, enum compression compression, int level,
			   uint8_t **ret_data, uint64_t *ret_bytes, struct error *err);

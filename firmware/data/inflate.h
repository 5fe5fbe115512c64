/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflates and deflates whole shards: gzip and zlib. Pure functions on bytes.
 *
 * Why two libraries: libdeflate is the fastest of three on shards of Examples (tests/bench/inflate.c), but it
 * inflates a member as a whole or not at all. Where it finds a fault, zlib inflates the member once more, in
 * pieces, up to the fault: the records before the fault are good, and fetch.bad_record = "skip" uses them.
 *
 * Why the output has a grow() function: the inflated size is not known beforehand, and the caller's buffer
 * may have to leave a memory budget (fetchd/memory/buffer.h) when it grows.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZLIB };

/* Recognises the compression by the first bytes of a shard: a plain TFRecord by the CRC of its first length,
 * gzip by 1f 8b 08, zlib by the check bits of its header. */
enum compression compression_of(const void *data, uint64_t bytes);

/* libdeflate's tables, reused from shard to shard; one per thread. Errors: -ENOMEM. */
struct inflater;
MUST_CHECK int inflater_open(struct inflater **ret_inflater, struct error *err);
void inflater_closep(struct inflater **inflater); /* for CLEANUP(); accepts one of NULL */

/* The output: `capacity` bytes at `data`, NULL and 0 at first, reused from shard to shard. `grow` enlarges it
 * to `bytes` bytes and preserves the first `used` bytes; where `grow` fails, *output is unchanged. */
struct inflate_output {
	uint8_t *data;
	uint64_t capacity;
	int (*grow)(struct inflate_output *output, uint64_t used, uint64_t bytes, struct error *err);
};

/* Inflates a whole shard, also of several gzip members, into *output, which grows when needed, to at most
 * `max` bytes. A good shard allocates nothing else.
 * Errors: -EBADMSG truncated or corrupt: the sentence says where, and the output's first *ret_bytes are the
 * bytes before the fault. With a wrong checksum at the end of a stream these are all bytes of the stream, so
 * the caller must check the records' own CRCs. -E2BIG more than `max`. Those of `grow`. */
MUST_CHECK int inflate_to(struct inflater *inflater, const void *data, uint64_t bytes,
			  enum compression compression, uint64_t max, struct inflate_output *output,
			  uint64_t *ret_bytes, struct error *err);

/* inflate_to() with *capacity bytes of malloc'ed memory as output; the memory is the caller's, also after a
 * failure. Errors: also -ENOMEM. */
MUST_CHECK int inflate_into(struct inflater *inflater, const void *data, uint64_t bytes,
			    enum compression compression, uint64_t max, uint8_t **buffer, uint64_t *capacity,
			    uint64_t *ret_bytes, struct error *err);

/* Compresses in one piece into malloc'ed memory; `level` is 1 .. 9. The gzip header has no name and no time,
 * so that the same input gives the same bytes. Errors: -E2BIG more than 1 GiB; -ENOMEM. */
MUST_CHECK int deflate_all(const void *data, uint64_t bytes, enum compression compression, int level,
			   uint8_t **ret_data, uint64_t *ret_bytes, struct error *err);

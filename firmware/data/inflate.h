/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole shards in and out of gzip and zlib. Pure functions on bytes.
 */
#pragma once

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZLIB };

/* What the first bytes of a shard say. A plain TFRecord is recognised by its length CRC; gzip by 1f 8b 08;
 * zlib by its header check. */
enum compression compression_of(const void *data, uint64_t bytes);

/* Inflate a whole shard (concatenated gzip members included) into malloc'ed memory of at most `max` bytes.
 * Errors: -EBADMSG truncated or corrupt, with how far it was good (*ret_bytes still holds the good prefix,
 * and *ret_data its bytes, when asked for); -E2BIG more than `max`; -ENOMEM. */
MUST_CHECK int inflate_all(const void *data, uint64_t bytes, enum compression compression, uint64_t max,
			   uint8_t **ret_data, uint64_t *ret_bytes, struct error *err);

/* The same into a buffer that is kept from shard to shard: *buffer holds *capacity bytes of malloc'ed memory
 * (NULL and 0 at first), is made larger when needed, never beyond `max`, and stays the caller's also on
 * failure. */
MUST_CHECK int inflate_into(const void *data, uint64_t bytes, enum compression compression, uint64_t max,
			    uint8_t **buffer, uint64_t *capacity, uint64_t *ret_bytes, struct error *err);

/* Gzip in one piece (zlib, `level` 1..9, no name, no time: same bytes every time) into malloc'ed memory. */
MUST_CHECK int gzip_all(const void *data, uint64_t bytes, int level, uint8_t **ret_data, uint64_t *ret_bytes,
			struct error *err);

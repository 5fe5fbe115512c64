/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the plain bytes of a shard, and an index of its records: the offset and length of each. Records are
 * not copied: workers/gather.c parses them from the plain bytes into the ring. A worker calls, without the
 * lock.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

/* Inflates the stored bytes where they are compressed, and indexes the records: sets shard->plain and
 * shard->record. In a plan of objects, the object is the record. shard->err is the first fault:
 *   -EBADMSG  a broken stream: the bytes before the fault are indexed, shard->lost is set;
 *             a bad length: the index ends there, shard->lost is set;
 *             a bad data CRC, or a record that the filter cannot judge: that record is marked as bad;
 *   -EINVAL   the window exceeds fetch.memory_bytes;
 *   those of buffer_grow(). */
void index_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard);

/* Sets the error -EBADMSG of a shard in which no record has any feature of the schema: all its rows would be
 * empty, and a schema whose features are all optional would not say so. The first record of another shard
 * ends the search. */
void index_check_features(const struct fetch *fetch, struct shard *shard);

/* Sets the error of a shard that makes its window exceed the budget. Returns -EINVAL. */
int index_too_large(const struct fetch *fetch, const struct shard *shard, struct error *err);

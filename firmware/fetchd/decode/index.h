/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain bytes of a shard, and an index of its records. A worker calls, without the lock.
 */
#pragma once

#include "fetchd/fetch.h"
#include "fetchd/shard/shard.h"

/* Inflate the stored bytes where they are compressed, and index the records: shard->plain, shard->record.
 * shard->err is the first fault: -EBADMSG a broken stream (what was inflated before it is indexed), a bad
 * length (ends the index: shard->lost), a bad data CRC or a record that the filter cannot judge (marks that
 * record bad); -EINVAL the window exceeds fetch.memory_bytes; those of buffer_grow(). */
void index_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard);

/* The error of a shard with which its window exceeds the budget. */
int index_too_large(const struct fetch *fetch, const struct shard *shard, struct error *err);

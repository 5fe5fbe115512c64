/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which training shards of a source are held out for validation: pure functions, any thread.
 *
 *     split.by   held out                                    when the source gets another shard
 *     shard      the last ones in key order                  shards change sides
 *     hash       those whose key has a hash below a bound    every other shard stays on its side
 *
 * The bound depends on the percentage alone, so a shard's side depends on its own key alone. There are two
 * exceptions, and in both the next shard may change the side of one other shard: where no hash is below the
 * bound, the shard with the smallest hash is held out; where all are, the shard with the largest trains.
 *
 * The share that is held out varies with the keys: 10 % of 1000 shards are 70 to 130 shards, of 20 shards 1
 * to 6.
 *
 * The hash is a promise, as the order of the records is (order.h): tests/unit/hold_out.c has golden values.
 */
#pragma once

#include <stdint.h>

/* split.by = "shard": returns the number of shards that are held out, at most shards - 1. */
uint64_t hold_out_last(uint64_t shards, uint64_t percent);

/* Returns the hash of a shard's key, which is the key below the source's url. */
uint64_t hold_out_hash(const char *key);

/* split.by = "hash": returns the bound; a shard is held out where its hash is below the bound. At least one
 * shard trains. With two shards or more, and a percentage above 0, at least one is held out, unless all
 * hashes are equal. `hash`: the hashes of all training shards of the source, in any order. */
uint64_t hold_out_bound(const uint64_t *hash, uint64_t shards, uint64_t percent);

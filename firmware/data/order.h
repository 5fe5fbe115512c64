/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of records: pure functions of (version, seed, pass, source, lane, window), never of timing, the
 * number of threads or of boxes. Random access, O(1) memory. Firmware keeps every version that an unfinished
 * run may use; golden vectors in tests/unit/order.c hold each.
 *
 * A pass over a source: its shards are permuted; the shard at position p belongs to lane p mod lanes; a
 * lane's shards are taken in windows of `window_shards`; the records of a window are permuted together. Row j
 * of a global batch comes from lane j mod lanes, and rank r of N owns the lanes that are r mod N.
 */
#pragma once

#include <stdint.h>

#define ORDER_VERSION 1u

/* What a permutation is keyed by; unused members are 0. */
struct order_key {
	uint64_t seed, pass, window;
	uint32_t source, lane;
};

/* The element at `index` of a keyed permutation of 0 .. n-1; index < n. */
uint64_t order_permute(const struct order_key *key, uint64_t n, uint64_t index);

/* The same for many elements: what depends on key and n alone is worked out once. */
struct order_permutation {
	uint64_t key, n, mask, rounds;
	unsigned half;
};
struct order_permutation order_permutation(const struct order_key *key, uint64_t n);
uint64_t order_permuted(const struct order_permutation *permutation, uint64_t index);
/* Those at `first` .. first + count - 1, below n; count <= ORDER_RUN_MAX. In half the time of one by one. */
#define ORDER_RUN_MAX 128u
void order_permuted_run(const struct order_permutation *permutation, uint64_t first, uint32_t count,
			uint64_t *ret_index);

/* Which shard (0 .. shards-1, in key order) stands at `position` of a pass. */
uint64_t order_shard(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards, uint64_t position);
/* The other way round: at which position a shard stands. */
uint64_t order_shard_position(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards, uint64_t shard);

/* Shards and windows of one lane in a pass. */
uint64_t order_lane_shards(uint64_t shards, uint32_t lanes, uint32_t lane);
uint64_t order_lane_windows(uint64_t shards, uint32_t lanes, uint32_t lane, uint64_t window_shards);
/* Position in the pass of the k-th shard of a lane's window. */
uint64_t order_position(uint32_t lanes, uint32_t lane, uint64_t window_shards, uint64_t window, uint64_t k);

/* The lane that row j of a global batch comes from, and the rank that owns a lane. */
uint32_t order_row_lane(uint64_t row, uint32_t lanes);
uint32_t order_lane_rank(uint32_t lane, uint32_t ranks);

/* Which source global row `row` of a pass is taken from, by weight (all > 0). */
uint32_t order_source(uint64_t seed, uint64_t pass, uint64_t row, const double *weights, uint32_t sources);

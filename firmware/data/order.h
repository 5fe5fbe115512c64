/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of records: pure functions of (version, seed, pass, source, lane, window). Timing, the number of
 * threads and the number of boxes have no influence. Random access, O(1) memory, any thread.
 *
 * One pass over a source:
 *   1. The shards are permuted. The shard at position p belongs to lane p mod lanes.
 *   2. A lane's shards form windows of `window_shards` consecutive shards.
 *   3. The records of a window are permuted together.
 * Row j of a global batch comes from lane j mod lanes. Each rank owns consecutive lanes (order_rank_lanes()).
 *
 * Where each shard is one record (ORDER_OBJECTS), step 3 is left out: the records of a lane stand in the
 * order of its shards. So a pass is one permutation of all records, and the place of each record in it is
 * known before any record is there. Where the number of lanes divides the rows of a batch, row j of a pass
 * over a single source is the record at position j. A window is only what is loaded together: its size
 * changes nothing.
 *
 * Why the order is computed and not stored: a run can then go on from any position with a few counters (the
 * cursor, core/ring/cursor.h), on another box, without reading what was used before. A shuffle buffer, as
 * other loaders have, depends on timing and cannot be resumed exactly.
 *
 * Why windows: to permute all records of a source at once, each record would be a request of its own, which
 * it is with ORDER_OBJECTS alone. A window is what fits in memory; the shards in a window are different ones
 * in every pass.
 *
 * Why lanes: their number is fixed in the plan, so the order stays the same when a run goes on with more or
 * fewer ranks; only the owner of a lane changes.
 *
 * Why a rank owns a node of a tree: float32 sums depend on their order. The gradients of lanes are added in a
 * binary tree, neighbours first, level by level: ((l0 + l1) + (l2 + l3)) + l4. A rank adds the lanes of its
 * node, and drivers/ranks adds the sums of nodes. So the sum of all lanes is the same for any number of
 * ranks.
 *
 * The order is a promise: a change needs a new ORDER_VERSION. Firmware has the code of every version that an
 * unfinished run may use, and tests/unit/order.c checks each with golden vectors.
 */
#pragma once

#include <stdint.h>

#define ORDER_VERSION 1u /* of shards with any number of records */
#define ORDER_OBJECTS \
	2u /* the version of shards that are one record each; its draws are those of version 1 */

/* The key of a permutation; unused members are 0. */
struct order_key {
	uint64_t seed, pass, window;
	uint32_t source, lane;
};

/* Returns the element at `index` of a keyed permutation of 0 .. n-1; index < n. */
uint64_t order_permute(const struct order_key *key, uint64_t n, uint64_t index);

/* A permutation for order_permuted(): computed once from key and n, then used for many elements. */
struct order_permutation {
	uint64_t key, n, mask, rounds;
	unsigned half;
};
struct order_permutation order_permutation(const struct order_key *key, uint64_t n);
uint64_t order_permuted(const struct order_permutation *permutation, uint64_t index);
/* Computes the elements at `first` .. first + count - 1; first + count <= n, count <= ORDER_RUN_MAX. Takes
 * half the time of as many order_permuted(). */
#define ORDER_RUN_MAX 128u
void order_permuted_run(const struct order_permutation *permutation, uint64_t first, uint32_t count,
			uint64_t *ret_index);

/* Returns the shard (0 .. shards-1, in key order) at `position` of a pass. */
uint64_t order_shard(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards, uint64_t position);
/* The inverse of order_shard(): returns the position of a shard. */
uint64_t order_shard_position(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards, uint64_t shard);

/* ORDER_OBJECTS: returns the object (0 .. objects-1, in key order) that gives row `row` of a lane in a pass:
 * row + 1 is at most order_lane_shards(objects, lanes, lane). */
uint64_t order_object(uint64_t seed, uint32_t source, uint64_t pass, uint64_t objects, uint32_t lanes,
		      uint32_t lane, uint64_t row);

/* Return the number of shards, or windows, of one lane in a pass. */
uint64_t order_lane_shards(uint64_t shards, uint32_t lanes, uint32_t lane);
uint64_t order_lane_windows(uint64_t shards, uint32_t lanes, uint32_t lane, uint64_t window_shards);
/* Returns the position in the pass of the k-th shard of a lane's window. */
uint64_t order_position(uint32_t lanes, uint32_t lane, uint64_t window_shards, uint64_t window, uint64_t k);

/* Returns the lane that a row of a global batch comes from. */
uint32_t order_row_lane(uint64_t row, uint32_t lanes);

/* Which lanes a rank owns; 1 <= ranks <= lanes. The lanes are the leaves of a tree: a node of n lanes has the
 * first 2^k of them at its left, 2^k the largest power of two below n, and the others at its right. A rank
 * owns a whole node. The ranks are spread so that the largest of their nodes is as small as possible. */
void order_rank_lanes(uint32_t lanes, uint32_t ranks, uint32_t rank, uint32_t *ret_first,
		      uint32_t *ret_count);
/* Returns the rank that owns a lane. */
uint32_t order_lane_rank(uint32_t lane, uint32_t lanes, uint32_t ranks);

/* Where the rows of a batch lie in the slot of a rank. The rows of a lane lie side by side: row i of a lane
 * is row k * lane_rows + i of the slot, where the lane is the k-th of the rank's. So a lane's rows have the
 * same places beside each other whatever the number of ranks. With a single lane they are the rows of the
 * batch. All zero: the rows are in the order of the batch, whatever the number of lanes. */
struct order_part {
	uint32_t lanes;     /* of the run */
	uint32_t first;     /* the first of the rank's lanes */
	uint32_t own;       /* the number of the rank's lanes */
	uint32_t lane_rows; /* rows of each lane in a batch: batch_rows / lanes */
};
/* The number of lanes divides `batch_rows`. */
struct order_part order_part(uint32_t lanes, uint32_t ranks, uint32_t rank, uint64_t batch_rows);
/* Returns which row of the global batch lies at row `row` of the slot; row < own * lane_rows. */
uint64_t order_batch_row(const struct order_part *part, uint32_t row);
/* Returns the row of the slot at which row `row` of the global batch lies; its lane is one of the rank's. */
uint32_t order_slot_row(const struct order_part *part, uint64_t row);

/* Draws 64 random bits for a record of a shard (its index in key order) in a pass: `place` tells the records
 * of the shard apart. */
uint64_t order_record_bits(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shard, uint64_t place);

/* Draws the source of global row `row` of a pass, by weight (all > 0). */
uint32_t order_source(uint64_t seed, uint64_t pass, uint64_t row, const double *weights, uint32_t sources);

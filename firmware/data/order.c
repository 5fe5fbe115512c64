/* SPDX-License-Identifier: Apache-2.0 */
#include "data/order.h"

#include "core/base/mix.h"

/* Rounds of the network. So many are enough for every element to stand at every position with equal chance,
 * as tests/unit/order.c measures: 6 above 16 elements, 12 below, where a half has 1 or 2 bits. */
#define ROUNDS       6u
#define ROUNDS_SMALL 12u
/* Distance of the rounds' keys: neighbouring keys would become equal when a small half is absorbed. */
#define ROUND_STEP UINT64_C(0xd1342543de82ef95)

/* Mixes a value into a state, as a hash function does. */
static uint64_t absorb(uint64_t state, uint64_t value)
{
	return mix64((state ^ value) + UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t digest(const struct order_key *key, uint64_t purpose)
{
	uint64_t state = absorb(ORDER_VERSION, purpose);

	state = absorb(state, key->seed);
	state = absorb(state, key->pass);
	state = absorb(state, key->window);
	return absorb(state, (uint64_t)key->source << 32 | key->lane);
}

enum { PURPOSE_RECORDS = 1, PURPOSE_SHARDS, PURPOSE_SOURCE, PURPOSE_BITS };

/* The permutation of 0 .. n-1: a balanced Feistel network over the smallest even number of bits that holds n.
 * The network permutes a power of 4, which may be more than n; an element that lands at n or above goes
 * through the network again until it lands below n (cycle walking, Black and Rogaway 2002). That takes fewer
 * than 4 walks on average. A Feistel network makes even permutations only, so one bit of the key exchanges 0
 * and 1. */
static struct order_permutation prepare(uint64_t key, uint64_t n)
{
	unsigned half = 1;

	while (half < 32 && (UINT64_C(1) << (2 * half)) < n)
		half++;
	return (struct order_permutation){ .key = key,
					   .n = n,
					   .mask = (UINT64_C(1) << half) - 1,
					   .rounds = half < 3 ? ROUNDS_SMALL : ROUNDS,
					   .half = half };
}

/* Goes through the network once. */
static inline uint64_t walk(struct order_permutation p, uint64_t index)
{
	uint64_t left = index >> p.half, right = index & p.mask;

	for (uint64_t round = 0; round < p.rounds; round++) {
		uint64_t next = left ^ (absorb(p.key + round * ROUND_STEP, right) & p.mask);

		left = right;
		right = next;
	}
	index = left << p.half | right;
	return index < 2 ? index ^ p.key >> 63 : index;
}

uint64_t order_permuted(const struct order_permutation *permutation, uint64_t index)
{
	do
		index = walk(*permutation, index);
	while (index >= permutation->n);
	return index;
}

/* The inverse of order_permuted(): undoes each step, the last step first. */
static uint64_t index_of(const struct order_permutation *permutation, uint64_t image)
{
	const struct order_permutation p = *permutation;

	do {
		if (image < 2)
			image ^= p.key >> 63;
		uint64_t left = image >> p.half, right = image & p.mask;

		for (uint64_t round = p.rounds; round-- > 0;) {
			uint64_t before = right ^ (absorb(p.key + round * ROUND_STEP, left) & p.mask);

			right = left;
			left = before;
		}
		image = left << p.half | right;
	} while (image >= p.n);
	return image;
}

/* Cycle walking: an element is permuted again until its image is below n. All elements make a step at once,
 * so that the processor works on several of them. After each step, the elements whose image is not below n
 * are moved to the front of `walking`. The move has no branch, because the processor could not predict it. */
void order_permuted_run(const struct order_permutation *permutation, uint64_t first, uint32_t count,
			uint64_t *ret_index)
{
	const struct order_permutation p = *permutation;
	uint32_t walking[ORDER_RUN_MAX], left = 0;

	for (uint32_t i = 0; i < count; i++) {
		ret_index[i] = walk(p, first + i);
		walking[left] = i;
		left += ret_index[i] >= p.n;
	}
	for (uint32_t on = 0; left > 0; left = on, on = 0)
		for (uint32_t k = 0; k < left; k++) {
			uint32_t i = walking[k];

			ret_index[i] = walk(p, ret_index[i]);
			walking[on] = i;
			on += ret_index[i] >= p.n;
		}
}

struct order_permutation order_permutation(const struct order_key *key, uint64_t n)
{
	return prepare(digest(key, PURPOSE_RECORDS), n);
}

uint64_t order_permute(const struct order_key *key, uint64_t n, uint64_t index)
{
	const struct order_permutation permutation = order_permutation(key, n);

	return order_permuted(&permutation, index);
}

static struct order_permutation shards_of_pass(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards)
{
	struct order_key key = { .seed = seed, .pass = pass, .source = source };

	return prepare(digest(&key, PURPOSE_SHARDS), shards);
}

uint64_t order_shard(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards, uint64_t position)
{
	const struct order_permutation permutation = shards_of_pass(seed, source, pass, shards);

	return order_permuted(&permutation, position);
}

uint64_t order_shard_position(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shards, uint64_t shard)
{
	const struct order_permutation permutation = shards_of_pass(seed, source, pass, shards);

	return index_of(&permutation, shard);
}

uint64_t order_object(uint64_t seed, uint32_t source, uint64_t pass, uint64_t objects, uint32_t lanes,
		      uint32_t lane, uint64_t row)
{
	return order_shard(seed, source, pass, objects, row * lanes + lane);
}

uint64_t order_lane_shards(uint64_t shards, uint32_t lanes, uint32_t lane)
{
	return shards / lanes + (lane < shards % lanes);
}

uint64_t order_lane_windows(uint64_t shards, uint32_t lanes, uint32_t lane, uint64_t window_shards)
{
	uint64_t of_lane = order_lane_shards(shards, lanes, lane);

	return of_lane / window_shards + (of_lane % window_shards != 0);
}

uint64_t order_position(uint32_t lanes, uint32_t lane, uint64_t window_shards, uint64_t window, uint64_t k)
{
	return (window * window_shards + k) * lanes + lane;
}

uint32_t order_row_lane(uint64_t row, uint32_t lanes)
{
	return (uint32_t)(row % lanes);
}

/* Returns how many of a node's leaves are at its left: the largest power of two below `size`, which is at
 * least 2. */
static uint32_t left_of(uint32_t size)
{
	uint32_t left = 1;

	while (left * 2 < size)
		left *= 2;
	return left;
}

/* Returns the number of ranks that a node of `size` lanes needs where each owns at most `most` lanes. */
static uint32_t ranks_needed(uint32_t size, uint32_t most)
{
	return size <= most ? 1
			    : ranks_needed(left_of(size), most) + ranks_needed(size - left_of(size), most);
}

/* Returns how many of the `ranks` ranks of a node are at its left. */
static uint32_t left_ranks(uint32_t size, uint32_t ranks)
{
	const uint32_t left = left_of(size);
	uint32_t most = 1, at_left;

	while (ranks_needed(size, most) > ranks)
		most++;
	at_left = ranks - ranks_needed(size - left, most);
	return at_left < left ? at_left : left;
}

void order_rank_lanes(uint32_t lanes, uint32_t ranks, uint32_t rank, uint32_t *ret_first, uint32_t *ret_count)
{
	uint32_t first = 0;

	while (ranks > 1) {
		const uint32_t at_left = left_ranks(lanes, ranks), left = left_of(lanes);

		if (rank < at_left) {
			lanes = left;
			ranks = at_left;
		} else {
			first += left;
			lanes -= left;
			rank -= at_left;
			ranks -= at_left;
		}
	}
	*ret_first = first;
	*ret_count = lanes;
}

uint32_t order_lane_rank(uint32_t lane, uint32_t lanes, uint32_t ranks)
{
	uint32_t first, count;

	for (uint32_t rank = 0; rank + 1 < ranks; rank++) {
		order_rank_lanes(lanes, ranks, rank, &first, &count);
		if (lane < first + count)
			return rank;
	}
	return ranks - 1;
}

struct order_part order_part(uint32_t lanes, uint32_t ranks, uint32_t rank, uint64_t batch_rows)
{
	struct order_part part = { .lanes = lanes, .lane_rows = (uint32_t)(batch_rows / lanes) };

	order_rank_lanes(lanes, ranks, rank, &part.first, &part.own);
	return part;
}

uint64_t order_batch_row(const struct order_part *part, uint32_t row)
{
	if (part->lanes <= 1)
		return row;
	return (uint64_t)(row % part->lane_rows) * part->lanes + part->first + row / part->lane_rows;
}

uint32_t order_slot_row(const struct order_part *part, uint64_t row)
{
	if (part->lanes <= 1)
		return (uint32_t)row;
	return ((uint32_t)(row % part->lanes) - part->first) * part->lane_rows +
	       (uint32_t)(row / part->lanes);
}

uint64_t order_record_bits(uint64_t seed, uint32_t source, uint64_t pass, uint64_t shard, uint64_t place)
{
	const struct order_key key = { .seed = seed, .pass = pass, .window = shard, .source = source };

	return absorb(digest(&key, PURPOSE_BITS), place);
}

uint32_t order_source(uint64_t seed, uint64_t pass, uint64_t row, const double *weights, uint32_t sources)
{
	struct order_key key = { .seed = seed, .pass = pass, .window = row };
	double at = (double)(digest(&key, PURPOSE_SOURCE) >> 11) * 0x1p-53, total = 0;

	for (uint32_t i = 0; i < sources; i++)
		total += weights[i];
	at *= total;
	for (uint32_t i = 0; i + 1 < sources; i++) {
		if (at < weights[i])
			return i;
		at -= weights[i];
	}
	return sources - 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of one lane of a source, in the order of a training (data/order.h). Of shards a whole window is
 * in memory, as in kiln-fetchd; of objects (ORDER_OBJECTS) one object. With order.mode "fast" the order of a
 * run depends on what arrives first, so the lane gives that of "exact".
 *
 * Order: lane_open -> lane_next* -> lane_done. One thread. Nothing stays on the disk.
 */
#pragma once

#include "core/config/config.h"
#include "trained/whole_shard.h"

struct lane_shard {
	struct plan_shard plan;
	struct whole_shard whole;
};

struct lane_entry {
	uint64_t offset; /* of the record's data in the shard */
	uint32_t bytes, shard, number;
	bool bad; /* its CRC is wrong, or the filter cannot judge it */
};

struct lane {
	const struct config *config;
	const struct plan *plan;
	const struct filter *filter; /* NULL: all records count */
	struct store *store;
	uint32_t source, lane;
	uint64_t pass, window; /* window: the next one */
	struct lane_shard *shard;
	uint64_t shards;
	struct lane_entry *entry; /* records of the window, in the order of the shards */
	uint64_t entries, capacity, at;
};

struct lane_record {
	const struct plan_shard *shard; /* of the lane, until the next call */
	const uint8_t *data;            /* NULL: the record is bad */
	uint64_t bytes, offset;
	uint32_t number; /* its place in the shard, counted from 0 */
};

/* Begins pass `pass` of a lane; the pointers in *lane must be set, and the rest zero. Errors: -ENOMEM. */
MUST_CHECK int lane_open(struct lane *lane, struct error *err);
/* Goes to the next record. Returns 1, or 0 at the end of the pass. `ret_record` NULL: the record is passed
 * over. Errors: those of a store; of a shard that is damaged, unless fetch.bad_record is "skip". The text
 * names the shard. */
MUST_CHECK int lane_next(struct lane *lane, struct lane_record *ret_record, struct error *err);
/* Begins the next pass. */
void lane_again(struct lane *lane);
void lane_done(struct lane *lane);

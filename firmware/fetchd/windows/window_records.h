/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which record of a window stands at which offset of the window's order. An evaluation has the records in the
 * order of the shards. Training permutes all records of the window together. An eager window (order.mode
 * "fast") permutes each shard by itself; the shards stand in the order of their arrival. Objects,
 * of which each is one record, stand in the order of the shards (ORDER_OBJECTS).
 *
 * Called by workers, without the lock: a window with spans does not change, except that an eager window gets
 * further shards, beyond the span's `arrived`. Cost: window_order() once per span, then O(log shards) per
 * record.
 */
#pragma once

#include "data/order.h"
#include "fetchd/shard/work.h"
#include "fetchd/windows/window.h"

struct window_record {
	const struct shard *shard;
	const struct record *record;
};

struct window_order {
	const struct window *window;
	struct order_key key;
	struct order_permutation permutation;
	uint32_t arrived;
	bool shuffled;
};

struct window_order window_order(const struct fetch *fetch, const struct span *span);

/* Finds the records at offsets first .. first + count - 1; count <= WINDOW_RECORDS_MAX. */
#define WINDOW_RECORDS_MAX ORDER_RUN_MAX
void window_records(const struct window_order *order, uint64_t first, uint32_t count,
		    struct window_record *ret_record);

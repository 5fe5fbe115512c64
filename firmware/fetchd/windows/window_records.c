/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/windows/window_records.h"

static struct order_key key_of(const struct fetch *fetch, const struct window *window)
{
	return (struct order_key){ .seed = fetch->settings->seed,
				   .pass = window->id.pass,
				   .window = window->id.window,
				   .source = window->source,
				   .lane = window->lane };
}

struct window_order window_order(const struct fetch *fetch, const struct span *span)
{
	const struct window *window = span->window;
	struct window_order order = { .window = window,
				      .shuffled = window->id.split == SPLIT_TRAIN && !window->in_order,
				      .arrived =
					      window->eager ? span->arrived : (uint32_t)window->group.shards,
				      .key = key_of(fetch, window) };

	if (order.shuffled && !window->eager)
		order.permutation = order_permutation(&order.key, window->records);
	return order;
}

static void records_exactly(const struct window_order *order, uint64_t first, uint32_t count,
			    struct window_record *ret_record)
{
	const struct window *window = order->window;
	uint64_t offset[WINDOW_RECORDS_MAX];

	if (order->shuffled)
		order_permuted_run(&order->permutation, first, count, offset);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t low = 0, high = order->arrived, at = order->shuffled ? offset[i] : first + i;

		/* The last shard whose first record stands at or before this one. */
		while (high - low > 1) {
			uint64_t middle = (low + high) / 2;

			if (window->first[middle] <= at)
				low = middle;
			else
				high = middle;
		}
		ret_record[i].shard = &window->shard[low];
		ret_record[i].record = &window->shard[low].record[at - window->first[low]];
		/* The record stands anywhere in a large index: waiting for it is a quarter of a gather's
		 * time. */
		__builtin_prefetch(ret_record[i].record);
	}
}

static struct order_permutation shard_order(const struct window_order *order, uint32_t k)
{
	struct order_key key = order->key;

	key.window = key.window << 32 | k;
	return order_permutation(&key, order->window->shard[k].records);
}

static void records_as_they_came(const struct window_order *order, uint64_t first, uint32_t count,
				 struct window_record *ret_record)
{
	const struct window *window = order->window;
	struct order_permutation permutation = { 0 };
	uint32_t shard = UINT32_MAX, at = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t index;

		while (at + 1 < order->arrived && window->first[at + 1] <= first + i)
			at++;
		if (shard != window->arrival_order[at]) {
			shard = window->arrival_order[at];
			permutation = shard_order(order, shard);
		}
		index = order_permuted(&permutation, first + i - window->first[at]);
		ret_record[i].shard = &window->shard[shard];
		ret_record[i].record = &window->shard[shard].record[index];
	}
}

void window_records(const struct window_order *order, uint64_t first, uint32_t count,
		    struct window_record *ret_record)
{
	if (order->window->eager && !order->window->in_order)
		records_as_they_came(order, first, count, ret_record);
	else
		records_exactly(order, first, count, ret_record);
}

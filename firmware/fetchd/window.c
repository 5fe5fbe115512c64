/* SPDX-License-Identifier: Apache-2.0 */
#include "data/order.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

uint64_t window_count(const struct plan *plan, enum split split)
{
	return order_lane_windows(plan_shards(plan, split), 1, 0, plan_settings_of(plan)->window_shards);
}

/* Train shards in the pass's order, the others in key order. */
static uint64_t shard_at(const struct fetch *fetch, struct place place, uint64_t k)
{
	const struct plan_settings *settings = plan_settings_of(fetch->plan);
	uint64_t position = order_position(1, 0, settings->window_shards, place.window, k);

	if (place.split != SPLIT_TRAIN)
		return position;
	return order_shard(settings->seed, 0, place.segment, plan_shards(fetch->plan, place.split), position);
}

static int reserve_window(struct window *window, uint64_t shards_max, struct error *err)
{
	if (window->shard)
		return 0;
	window->shard = calloc(shards_max, sizeof(*window->shard));
	window->first = calloc(shards_max, sizeof(*window->first));
	return window->shard && window->first
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for %" PRIu64 " shards", shards_max);
}

static void set_shard(struct fetch *fetch, struct window *window, uint64_t k, struct plan_shard plan)
{
	struct shard *shard = &window->shard[k];

	shard->window = window;
	shard->source = &fetch->source[plan.source];
	shard->plan = plan;
	shard->fetched_again = false;
	shard->err.code = 0;
	shard->pin.bytes = plan.bytes;
	(void)snprintf(shard->pin.etag, sizeof(shard->pin.etag), "%s", plan.etag);
	(void)snprintf(shard->pin.version, sizeof(shard->pin.version), "%s", plan.version);
}

/* What the kept buffers will hold when every shard's stored bytes have their room. */
static uint64_t kept_bytes(const struct window *window)
{
	uint64_t bytes = 0;

	for (uint64_t k = 0; k < window->shards; k++) {
		const struct shard *shard = &window->shard[k];

		bytes += shard->raw_capacity > shard->plan.bytes ? shard->raw_capacity : shard->plan.bytes;
		bytes += shard->inflated_capacity + shard->records_capacity * sizeof(*shard->record);
	}
	return bytes;
}

static void drop_buffers(struct shard *shard)
{
	free(shard->raw);
	free(shard->inflated);
	free(shard->record);
	shard->raw = shard->inflated = NULL;
	shard->record = NULL;
	shard->raw_capacity = shard->inflated_capacity = shard->records_capacity = 0;
}

static int reserve_raw(struct window *window, struct error *err)
{
	for (uint64_t k = 0; k < window->shards; k++) {
		struct shard *shard = &window->shard[k];

		if (shard->plan.bytes <= shard->raw_capacity)
			continue;
		free(shard->raw);
		shard->raw = malloc(shard->plan.bytes);
		shard->raw_capacity = shard->raw ? shard->plan.bytes : 0;
		if (!shard->raw)
			return error_set(err, -ENOMEM, "%s: no memory for %" PRIu64 " bytes", shard->plan.key,
					 shard->plan.bytes);
	}
	return 0;
}

int window_load(struct fetch *fetch, struct window *window, struct place place, struct error *err)
{
	uint64_t per_window = plan_settings_of(fetch->plan)->window_shards;
	uint64_t left = plan_shards(fetch->plan, place.split) - place.window * per_window;
	int r = reserve_window(window, per_window, err);

	if (r < 0)
		return r;
	window->state = WINDOW_IDLE;
	window->place = place;
	window->shards = left < per_window ? left : per_window;
	window->bytes = window->lost = 0;
	for (uint64_t k = 0; k < window->shards; k++) {
		set_shard(fetch, window, k, plan_shard(fetch->plan, place.split, shard_at(fetch, place, k)));
		/* fetch_setup() saw that no window's sum leaves the budget. */
		window->bytes += window->shard[k].plan.bytes;
	}
	if (kept_bytes(window) > fetch->window_bytes)
		for (uint64_t k = 0; k < per_window; k++)
			drop_buffers(&window->shard[k]);
	r = reserve_raw(window, err);
	if (r < 0)
		return r;
	window->loading = window->shards;
	window->state = WINDOW_LOADING;
	for (uint64_t k = 0; k < window->shards; k++)
		network_fetch(&window->shard[k]);
	return 0;
}

void window_complete(struct window *window)
{
	window->records = 0;
	for (uint64_t k = 0; k < window->shards; k++) {
		window->first[k] = window->records;
		window->records += window->shard[k].records;
	}
	window->state = WINDOW_READY;
}

const struct shard *window_failure(const struct window *window)
{
	for (uint64_t k = 0; k < window->shards; k++)
		if (window->shard[k].err.code)
			return &window->shard[k];
	return NULL;
}

const struct record *window_record(const struct fetch *fetch, const struct window *window, uint64_t offset,
				   const struct shard **ret_shard)
{
	uint64_t low = 0, high = window->shards;

	if (window->place.split == SPLIT_TRAIN) {
		struct order_key key = { .seed = plan_settings_of(fetch->plan)->seed,
					 .pass = window->place.segment,
					 .window = window->place.window };

		offset = order_permute(&key, window->records, offset);
	}
	/* The last shard whose first record is not behind `offset`. */
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;

		if (window->first[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	*ret_shard = &window->shard[low];
	return &window->shard[low].record[offset - window->first[low]];
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preview/lane.h"

#include "data/order.h"

#include <inttypes.h>

/* ---- A window ---- */

static void drop_shards(struct lane *lane)
{
	for (uint64_t k = 0; k < lane->shards; k++)
		whole_shard_done(&lane->shard[k].whole);
	lane->shards = lane->entries = lane->at = 0;
}

static int add_entry(struct lane *lane, const struct lane_entry *entry, struct error *err)
{
	if (lane->entries == lane->capacity) {
		const uint64_t capacity = lane->capacity ? 2 * lane->capacity : 1024;
		void *grown = realloc(lane->entry, capacity * sizeof(*entry));

		if (!grown)
			return error_set(err, -ENOMEM, "no memory for %" PRIu64 " records", capacity);
		lane->entry = grown;
		lane->capacity = capacity;
	}
	lane->entry[lane->entries++] = *entry;
	return 0;
}

/* Notes the records of a shard. Bad records keep their places, and what comes behind a broken frame is lost,
 * as with fetch.bad_record = "skip". */
static int index_shard(struct lane *lane, uint32_t k, struct error *err)
{
	const bool skips = lane->config->fetch.bad_record == BAD_RECORD_SKIP;
	struct whole_shard *shard = &lane->shard[k].whole;

	while (shard->at < shard->bytes) {
		const uint32_t number = (uint32_t)shard->record;
		struct tfrecord record;
		int r = whole_shard_next(shard, lane->filter, UINT32_MAX, &record, err);

		if (r < 0 && !skips)
			return r;
		if (!record.data)
			return 0;
		if (r != 0 &&
		    (r = add_entry(lane,
				   &(struct lane_entry){ .offset = (uint64_t)(record.data - shard->data),
							 .bytes = (uint32_t)record.bytes,
							 .shard = k,
							 .number = number,
							 .bad = r < 0 },
				   err)) < 0)
			return r;
	}
	return 0;
}

static int load_shard(struct lane *lane, uint32_t k, struct error *err)
{
	struct lane_shard *shard = &lane->shard[k];
	int r = whole_shard_get(&shard->whole, lane->store, shard->plan.key, err);

	if (r < 0)
		return r;
	r = whole_shard_inflate(&shard->whole, err);
	if (r == -EBADMSG && lane->config->fetch.bad_record == BAD_RECORD_SKIP)
		r = 0; /* the records before the damage count */
	if (r == 0)
		r = index_shard(lane, k, err);
	return r < 0 ? error_prefix(err, "%s", shard->plan.key) : 0;
}

/* Loads the next window. Returns 0 where the pass has no more. */
static int load_window(struct lane *lane, struct error *err)
{
	const struct plan_settings *settings = plan_settings_of(lane->plan);
	const uint64_t all = plan_source_shards(lane->plan, lane->source, SPLIT_TRAIN),
		       first = lane->window * settings->window_shards,
		       own = order_lane_shards(all, settings->lanes, lane->lane);
	int r = 0;

	drop_shards(lane);
	if (first >= own)
		return 0;
	for (uint64_t k = 0; r == 0 && k < settings->window_shards && first + k < own; k++) {
		const uint64_t position =
			order_position(settings->lanes, lane->lane, settings->window_shards, lane->window, k);

		lane->shard[k].plan =
			plan_shard(lane->plan, lane->source, SPLIT_TRAIN,
				   order_shard(settings->seed, lane->source, lane->pass, all, position));
		lane->shards++;
		r = load_shard(lane, (uint32_t)k, err);
	}
	lane->window++;
	return r < 0 ? r : 1;
}

static void read_entry(const struct lane *lane, struct lane_record *ret_record)
{
	const struct order_key key = { .seed = plan_settings_of(lane->plan)->seed,
				       .pass = lane->pass,
				       .window = lane->window - 1,
				       .source = lane->source,
				       .lane = lane->lane };
	const struct lane_entry *entry = &lane->entry[order_permute(&key, lane->entries, lane->at)];
	const struct lane_shard *shard = &lane->shard[entry->shard];

	*ret_record = (struct lane_record){ .shard = &shard->plan,
					    .data = entry->bad ? NULL : shard->whole.data + entry->offset,
					    .bytes = entry->bytes,
					    .offset = entry->offset,
					    .number = entry->number };
}

/* ---- Objects ---- */

static int next_object(struct lane *lane, struct lane_record *ret_record, struct error *err)
{
	const struct plan_settings *settings = plan_settings_of(lane->plan);
	const uint64_t all = plan_source_shards(lane->plan, lane->source, SPLIT_TRAIN), row = lane->at;
	struct lane_shard *shard = lane->shard;
	int r;

	if (row == order_lane_shards(all, settings->lanes, lane->lane))
		return 0;
	lane->at++;
	if (!ret_record)
		return 1;
	shard->plan = plan_shard(lane->plan, lane->source, SPLIT_TRAIN,
				 order_object(settings->seed, lane->source, lane->pass, all, settings->lanes,
					      lane->lane, row));
	r = whole_shard_get(&shard->whole, lane->store, shard->plan.key, err);
	*ret_record = (struct lane_record){ .shard = &shard->plan,
					    .data = shard->whole.data,
					    .bytes = shard->whole.bytes };
	return r < 0 ? r : 1;
}

/* ---- A lane ---- */

int lane_open(struct lane *lane, struct error *err)
{
	lane->shard = calloc(plan_settings_of(lane->plan)->window_shards, sizeof(*lane->shard));
	return lane->shard ? 0 : error_set(err, -ENOMEM, "no memory for the shards of a window");
}

int lane_next(struct lane *lane, struct lane_record *ret_record, struct error *err)
{
	int r = 1;

	if (plan_is_of_objects(lane->plan))
		return next_object(lane, ret_record, err);
	while (r > 0 && lane->at == lane->entries)
		r = load_window(lane, err);
	if (r <= 0)
		return r;
	if (ret_record)
		read_entry(lane, ret_record);
	lane->at++;
	return 1;
}

void lane_again(struct lane *lane)
{
	drop_shards(lane);
	lane->pass++;
	lane->window = 0;
}

void lane_done(struct lane *lane)
{
	if (lane->shard) {
		whole_shard_done(&lane->shard[0].whole); /* where each object is a record: the last one */
		drop_shards(lane);
	}
	free(lane->shard);
	free(lane->entry);
}

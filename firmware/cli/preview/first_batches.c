/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preview/first_batches.h"

#include "core/base/temporary.h"
#include "preflight/plan_list.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- Open ---- */

/* The plan is a file that is mapped, so its name is of no more use once it is open. */
static int make_plan(struct first_batches *batches, struct error *err)
{
	char path[PATH_BYTES];
	int r = temporary_file("preview", path, err);

	if (r < 0)
		return r;
	if ((r = plan_list(batches->config, NULL, path, err)) == 0)
		r = plan_open(path, &batches->plan, err);
	(void)unlink(path);
	return r;
}

static int open_lanes(struct first_batches *batches, struct error *err)
{
	const struct config *config = batches->config;
	const struct store_options options = store_options_of(config);
	const uint32_t lanes = (uint32_t)config->order.lanes;
	int r = 0;

	batches->lanes = config->sources * lanes;
	batches->lane = calloc(batches->lanes, sizeof(*batches->lane));
	batches->over = calloc(lanes, sizeof(*batches->over));
	if (!batches->lane || !batches->over)
		return error_set(err, -ENOMEM, "no memory for %u lanes", batches->lanes);
	for (uint32_t i = 0; r == 0 && i < config->sources; i++)
		r = store_open(&config->source[i].store, &options, &batches->store[i], err);
	for (uint32_t i = 0; r == 0 && i < batches->lanes; i++) {
		batches->lane[i] = (struct lane){ .config = config,
						  .plan = batches->plan,
						  .filter = *config->order.filter ? &batches->filter : NULL,
						  .store = batches->store[i / lanes],
						  .source = i / lanes,
						  .lane = i % lanes };
		r = lane_open(&batches->lane[i], err);
	}
	return r;
}

static int make_batch(struct first_batches *batches, struct error *err)
{
	const uint64_t rows = batches->slot_rows;

	batches->batch = (struct batch_slot){ .schema = &batches->schema, .empty = calloc(rows, 1) };
	batches->origin = calloc(rows, sizeof(*batches->origin));
	if (!batches->batch.empty || !batches->origin)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " rows", rows);
	for (uint32_t i = 0; i < batches->schema.features; i++) {
		const struct example_feature *feature = &batches->schema.feature[i];

		batches->batch.row_bytes[i] = batch_row_bytes(feature);
		batches->batch.values[i] = calloc(rows, batches->batch.row_bytes[i] + 8);
		if (feature->values_max)
			batches->batch.splits[i] = calloc(rows + 1, sizeof(int64_t));
		if (!batches->batch.values[i] || (feature->values_max && !batches->batch.splits[i]))
			return error_set(err, -ENOMEM, "no memory for %" PRIu64 " rows", rows);
	}
	return 0;
}

/* ---- Rows ---- */

static int parse(struct first_batches *batches, const struct lane *lane, const struct lane_record *record,
		 uint32_t row, struct error *err)
{
	const uint64_t bits = plan_record_bits(batches->plan, record->shard, lane->pass, record->offset);

	if (!record->data) {
		batch_empty_row(&batches->batch, row);
		return 0;
	}
	if (plan_is_of_objects(batches->plan))
		return batch_object(&batches->batch, batches->decoder, row, record->data, record->bytes,
				    record->shard->label, &bits, err);
	return batch_parse(&batches->batch, batches->decoder, row, record->data, record->bytes, &bits, err);
}

/* Reads a record into a row. */
static int fill(struct first_batches *batches, const struct lane *lane, const struct lane_record *record,
		uint32_t row, struct error *err)
{
	int r = parse(batches, lane, record, row, err);

	if (r < 0 && batches->config->fetch.bad_record != BAD_RECORD_SKIP)
		return plan_is_of_objects(batches->plan)
			       ? error_prefix(err, "%s", record->shard->key)
			       : error_prefix(err, "%s: record %u", record->shard->key, record->number);
	if (!batches->batch.empty[row])
		batches->origin[row] = (struct first_origin){ .key = record->shard->key,
							      .label = record->shard->label,
							      .number = record->number };
	return 0;
}

/* Gives row `row` of a batch to its lane. `parsed`: reads the record; otherwise passes over it. */
static int deal(struct first_batches *batches, uint32_t row, bool parsed, struct error *err)
{
	const struct plan_settings *settings = plan_settings_of(batches->plan);
	const uint32_t own = order_row_lane(row, settings->lanes),
		       source = settings->sources == 1
					? 0
					: order_source(settings->seed, 0, batches->passed + row,
						       settings->weight, settings->sources);
	struct lane *lane = &batches->lane[source * settings->lanes + own];
	struct lane_record record;
	int r;

	if (batches->over[own])
		return 0;
	r = lane_next(lane, parsed ? &record : NULL, err);
	if (r == 0 && source > 0) {
		lane_again(lane);
		r = lane_next(lane, parsed ? &record : NULL, err);
	}
	if (r == 0)
		batches->over[own] = true;
	if (r <= 0 || !parsed)
		return r < 0 ? r : 0;
	return fill(batches, lane, &record, order_slot_row(&batches->part, row), err);
}

/* Passes over rows as kiln-fetchd does: in batches, so that the first row after them is that of lane 0. */
static int pass_over(struct first_batches *batches, uint64_t rows, struct error *err)
{
	const uint64_t batch = batches->config->run.batch_rows;
	int r = 0;

	while (r == 0 && rows > 0) {
		const uint32_t count = (uint32_t)(rows < batch ? rows : batch);

		for (uint32_t row = 0; r == 0 && row < count; row++)
			r = deal(batches, row, false, err);
		batches->passed += count;
		rows -= count;
	}
	return r;
}

int first_batches_open(const struct config *config, uint64_t most, struct first_batches *ret_batches,
		       struct error *err)
{
	struct first_batches *batches = ret_batches;
	int r;

	batches->config = config;
	if (*config->order.filter)
		(void)filter_parse(config->order.filter, &batches->filter); /* config_load() has parsed it */
	batches->most = most < config->run.batch_rows ? most : config->run.batch_rows;
	batches->part = order_part((uint32_t)config->order.lanes, 1, 0, config->run.batch_rows);
	batches->slot_rows = (uint32_t)(config->order.lanes > 1 ? config->run.batch_rows : batches->most);
	if ((r = batch_schema(config, &batches->schema, err)) < 0 ||
	    (r = batch_decoder_new(config, &batches->decoder, err)) < 0 ||
	    (r = make_plan(batches, err)) < 0 || (r = open_lanes(batches, err)) < 0 ||
	    (r = make_batch(batches, err)) < 0)
		return r;
	return pass_over(batches, config->order.skip_rows, err);
}

/* Returns the rows of the next batch; 0 at the end of the epoch. */
static uint32_t rows_left(const struct first_batches *batches)
{
	const struct plan_settings *settings = plan_settings_of(batches->plan);
	const uint64_t taken = batches->passed - settings->skip_rows;
	uint64_t left = settings->batch_rows;
	bool over = true;

	if (settings->take_rows > 0 && settings->take_rows - taken < left)
		left = settings->take_rows - taken;
	for (uint32_t own = 0; own < settings->lanes; own++)
		over = over && batches->over[own];
	return over ? 0 : (uint32_t)left;
}

static int deal_until(struct first_batches *batches, uint64_t row, bool parsed, struct error *err)
{
	int r = 0;

	for (; r == 0 && batches->dealt < row; batches->dealt++)
		r = deal(batches, batches->dealt, parsed, err);
	return r;
}

int first_batches_next(struct first_batches *batches, uint64_t rows, struct error *err)
{
	int r = batches->dealt ? deal_until(batches, batches->rows, false, err) : 0;

	if (r < 0)
		return r;
	batches->passed += batches->rows;
	batches->rows = rows_left(batches);
	batches->dealt = 0;
	memset(batches->origin, 0, batches->slot_rows * sizeof(*batches->origin));
	r = deal_until(batches, rows < batches->rows ? rows : batches->rows, true, err);
	return r < 0 ? r : batches->rows > 0;
}

void first_batches_done(struct first_batches *batches)
{
	for (uint32_t i = 0; batches->lane && i < batches->lanes; i++)
		lane_done(&batches->lane[i]);
	for (uint32_t i = 0; i < batches->schema.features; i++) {
		free(batches->batch.values[i]);
		free(batches->batch.splits[i]);
	}
	for (uint32_t i = 0; i < CONFIG_SOURCES_MAX; i++)
		store_close(batches->store[i]);
	free(batches->batch.empty);
	free(batches->origin);
	free(batches->lane);
	free(batches->over);
	batch_decoder_freep(&batches->decoder);
	plan_close(batches->plan);
}

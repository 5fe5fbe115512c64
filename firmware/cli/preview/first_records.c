/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preview/first_records.h"

#include "cli/base/whole.h"
#include "data/hold_out.h"
#include "data/inflate.h"
#include "data/order.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <string.h>

#define SHARD_MAX (UINT64_C(1) << 34)

/* ---- The shards ---- */

static int add_key(void *context, const struct store_object *object)
{
	struct first_records *records = context;

	if (records->keys == records->capacity) {
		const uint32_t capacity = records->capacity ? 2 * records->capacity : 64;
		void *grown = realloc(records->key, capacity * sizeof(*records->key));

		if (!grown)
			return -ENOMEM;
		records->key = grown;
		records->capacity = capacity;
	}
	records->key[records->keys] = strdup(object->key);
	return records->key[records->keys++] ? 0 : -ENOMEM;
}

/* Takes out the shards that split.by holds out for validation. */
static int hold_out(struct first_records *records, struct error *err)
{
	const struct config *config = records->config;
	const uint64_t percent = config->split.validation_percent;
	CLEANUP(free_ptr) uint64_t *hash = calloc((size_t)records->keys + 1, sizeof(*hash));
	uint32_t kept = 0;
	uint64_t bound = 0, last;

	if (!hash)
		return error_set(err, -ENOMEM, "no memory for %u shards", records->keys);
	for (uint32_t i = 0; i < records->keys; i++)
		hash[i] = hold_out_hash(records->key[i]);
	if (config->split.by == SPLIT_BY_HASH)
		bound = hold_out_bound(hash, records->keys, percent);
	last = config->split.by == SPLIT_BY_SHARD ? hold_out_last(records->keys, percent) : 0;
	for (uint32_t i = 0; i < records->keys; i++)
		if (hash[i] < bound || i >= records->keys - last)
			free(records->key[i]);
		else
			records->key[kept++] = records->key[i];
	records->keys = kept;
	return 0;
}

static int open_shards(struct first_records *records, struct error *err)
{
	const struct config_source *source = &records->config->source[0];
	const struct store_options options = store_options_of(records->config);
	int r;

	if (source->format == FORMAT_OBJECTS)
		return error_set(
			err, -EINVAL,
			"%s: source.format: found \"objects\", expected \"tfrecord\"; the pictures of "
			"objects are not previewed",
			records->config->file);
	if ((r = store_open(&source->store, &options, &records->store, err)) < 0 ||
	    (r = store_list(records->store, source->train_glob, add_key, records, err)) < 0)
		return r == -ENOMEM ? error_set(err, r, "no memory for the names of shards") : r;
	if ((r = hold_out(records, err)) < 0)
		return r;
	return records->keys
		       ? 0
		       : error_set(err, -ENOENT, "%s: found no training shard, expected names as \"%s\"",
				   source->store.url, source->train_glob);
}

/* ---- A row ---- */

int first_records_open(const struct config *config, struct first_records *ret_records, struct error *err)
{
	struct first_records *records = ret_records;
	int r;

	records->config = config;
	if ((r = batch_schema(config, &records->schema, err)) < 0 ||
	    (r = batch_pictures_new(config, &records->pictures, err)) < 0)
		return r;
	records->batch = (struct batch_slot){ .schema = &records->schema, .empty = &records->empty };
	for (uint32_t i = 0; i < records->schema.features; i++) {
		const struct example_feature *feature = &records->schema.feature[i];

		records->batch.row_bytes[i] = batch_row_bytes(feature);
		records->batch.values[i] = calloc(1, records->batch.row_bytes[i] + 8);
		records->batch.splits[i] = feature->values_max ? records->splits[i] : NULL;
		if (!records->batch.values[i])
			return error_set(err, -ENOMEM, "no memory for a record");
	}
	return open_shards(records, err);
}

void first_records_done(struct first_records *records)
{
	for (uint32_t i = 0; i < records->schema.features; i++)
		free(records->batch.values[i]);
	for (uint32_t i = 0; i < records->keys; i++)
		free(records->key[i]);
	free(records->key);
	free(records->raw);
	free(records->plain);
	batch_pictures_freep(&records->pictures);
	store_close(records->store);
}

/* ---- Records ---- */

static int load_shard(struct first_records *records, struct error *err)
{
	CLEANUP(inflater_closep) struct inflater *inflater = NULL;
	enum compression compression;
	uint64_t bytes;
	int r;

	free(TAKE(records->raw));
	r = whole_get(records->store, records->key[records->shard++], SHARD_MAX, &records->raw, &bytes, err);
	if (r < 0)
		return r;
	records->at = 0;
	records->data = (const uint8_t *)records->raw;
	records->bytes = bytes;
	compression = compression_of(records->raw, bytes);
	if (compression == COMPRESSION_NONE)
		return 0;
	if ((r = inflater_open(&inflater, err)) < 0)
		return r;
	r = inflate_into(inflater, records->raw, bytes, compression, SHARD_MAX, &records->plain,
			 &records->plain_capacity, &records->bytes, err);
	records->data = records->plain;
	return r;
}

/* The random bits are those of the first pass (fetchd/workers/gather.c). */
static int parse(struct first_records *records, struct error *err)
{
	const uint64_t at = records->at;
	struct tfrecord record = { 0 };
	uint64_t bits;
	int r = tfrecord_next(records->data, records->bytes, at, SHARD_MAX, &record, err);

	if (r < 0)
		return r;
	records->at = record.next;
	bits = order_record_bits(records->config->run.seed, 0, 0, records->shard - 1,
				 at + TFRECORD_HEADER_BYTES);
	return batch_parse(&records->batch, records->pictures, 0, record.data, record.bytes, &bits, err);
}

int first_records_next(struct first_records *records, struct error *err)
{
	int r = 0;

	while (r == 0 && records->at == records->bytes && records->shard < records->keys)
		r = load_shard(records, err);
	if (r == 0 && records->at == records->bytes)
		return 0;
	if (r == 0)
		r = parse(records, err);
	return r < 0 ? error_prefix(err, "%s", records->key[records->shard - 1]) : 1;
}

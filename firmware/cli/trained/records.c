/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/records.h"

#include "cli/base/say.h"
#include "cli/base/temporary.h"
#include "cli/trained/columns.h"
#include "cli/trained/features.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "data/filter.h"
#include "data/inflate.h"
#include "data/plan.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <string.h>

#define SHARD_MAX (UINT64_C(1) << 34)

struct shard_key {
	char *key;
	uint32_t source;
};

struct records {
	const struct config *config;
	struct store *store[CONFIG_SOURCES_MAX];
	uint32_t stores;
	struct shard_key *shard;
	uint32_t shards, room, next_shard;
	bool filtered;
	struct filter filter;
	struct lines *lines; /* not NULL: there are no shards */
	struct lines own;    /* where no other were given */

	struct inflater *inflater;
	char *raw; /* of the shard at hand */
	uint8_t *plain;
	uint64_t plain_room;
	const uint8_t *data; /* raw or plain */
	uint64_t bytes, at, record;

	struct columns columns;
	struct records_place *place; /* of each row of the batch at hand */
	uint64_t rows, skipped;
	bool ended;
};

const char *const records_splits[SPLIT_MAX] = {
	[SPLIT_TRAIN] = "train", [SPLIT_VALIDATION] = "validation", [SPLIT_TEST] = "test"
};

/* ---- Which shards ---- */

int records_option(const char *verb, struct records_source *source, int code, const char *value)
{
	source->given = true;
	if (code == RECORDS_DATA) {
		source->data = value;
		return CLI_OK;
	}
	for (enum split split = 0; split < SPLIT_MAX; split++)
		if (strcmp(value, records_splits[split]) == 0) {
			source->split = split;
			return CLI_OK;
		}
	return cli_usage(verb, "--split: found \"%s\", expected train, validation or test", value);
}

const char *records_source_name(const struct records_source *source)
{
	static const char *const names[SPLIT_MAX] = { [SPLIT_TRAIN] = "the train split",
						      [SPLIT_VALIDATION] = "the validation split",
						      [SPLIT_TEST] = "the test split" };

	return records_are_lines(source) ? "standard input" : names[source->split];
}

bool records_are_lines(const struct records_source *source)
{
	return source->data && strcmp(source->data, "-") == 0;
}

static int add_key(struct records *records, const char *key, uint32_t source)
{
	if (records->shards == records->room) {
		const uint32_t room = records->room ? 2 * records->room : 64;
		void *grown = realloc(records->shard, room * sizeof(*records->shard));

		if (!grown)
			return -ENOMEM;
		records->shard = grown;
		records->room = room;
	}
	records->shard[records->shards] = (struct shard_key){ strdup(key), source };
	return records->shard[records->shards++].key ? 0 : -ENOMEM;
}

static int add_object(void *context, const struct store_object *object)
{
	return add_key(context, object->key, 0);
}

/* "": of this split they are all. */
static const char *glob_of(const struct config *config, uint32_t source, enum split split)
{
	const struct config_source *from = &config->source[source];
	const char *const globs[SPLIT_MAX] = { [SPLIT_TRAIN] = from->train_glob,
					       [SPLIT_VALIDATION] = from->validation_glob,
					       [SPLIT_TEST] = from->test_glob };

	return globs[split];
}

static bool is_new_glob(const struct config *config, uint32_t source, enum split split)
{
	for (uint32_t i = 0; i < source; i++)
		if (strcmp(glob_of(config, i, split), glob_of(config, source, split)) == 0)
			return false;
	return true;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct shard_key *)a)->key, ((const struct shard_key *)b)->key);
}

/* A key that several globs match is one shard. */
static void sort_keys(struct records *records)
{
	uint32_t kept = 0;

	if (records->shards)
		qsort(records->shard, records->shards, sizeof(*records->shard), compare_keys);
	for (uint32_t i = 0; i < records->shards; i++)
		if (kept && strcmp(records->shard[kept - 1].key, records->shard[i].key) == 0)
			free(records->shard[i].key);
		else
			records->shard[kept++] = records->shard[i];
	records->shards = kept;
}

static int list_below(struct records *records, const struct trained *trained,
		      const struct records_source *source, struct error *err)
{
	struct config_store where = trained->where;
	struct store_options options = { 0 };
	int r;

	where.url = source->data;
	if ((r = store_open(&where, &options, &records->store[0], err)) < 0)
		return r;
	records->stores = 1;
	for (uint32_t i = 0; r == 0 && i < trained->config.sources; i++) {
		const char *glob = glob_of(&trained->config, i, source->split);

		if (is_new_glob(&trained->config, i, source->split))
			r = store_list(records->store[0], *glob ? glob : NULL, add_object, records, err);
	}
	sort_keys(records);
	return r;
}

/* "<run>/plan", where the model is "<run>/model/model.safetensors". */
static int fetch_plan(const struct trained *trained, const char *path, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where = trained->where;
	struct store_options options = { 0 };
	CLEANUP(free_ptr) char *url = strdup(store_url(trained->folder));
	char *slash;
	int r;

	if (!url)
		return error_set(err, -ENOMEM, "no memory for a name");
	while (*url && url[strlen(url) - 1] == '/')
		url[strlen(url) - 1] = '\0';
	slash = strrchr(url, '/');
	if (slash)
		slash[1] = '\0';
	where.url = url;
	if ((r = store_open(&where, &options, &store, err)) < 0)
		return r;
	r = store_get_file(store, "plan", path, err);
	return r == -ENOENT
		       ? error_set(err, r, "%splan: there is none beside the model; --data names shards", url)
		       : r;
}

static int open_sources(struct records *records, const struct trained *trained, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < trained->config.sources; i++) {
		struct store_options options = { 0 };

		r = store_open(&trained->config.source[i].store, &options, &records->store[i], err);
		records->stores += r == 0;
	}
	return r;
}

static int take_plan(struct records *records, const char *path, enum split split, struct error *err)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	int r = plan_open(path, &plan, err);

	for (uint32_t source = 0; r == 0 && source < records->stores; source++)
		for (uint64_t i = 0; r == 0 && i < plan_source_shards(plan, source, split); i++)
			r = add_key(records, plan_shard(plan, source, split, i).key, source);
	return r;
}

static int list_plan(struct records *records, const struct trained *trained, enum split split,
		     struct error *err)
{
	char path[PATH_BYTES];
	int r = temporary_file("plan", path, err);

	if (r < 0)
		return r;
	r = fetch_plan(trained, path, err);
	if (r == 0)
		r = open_sources(records, trained, err);
	if (r == 0)
		r = take_plan(records, path, split, err);
	(void)unlink(path);
	return r;
}

/* ---- Open and close ---- */

static int open_shards(struct records *records, const struct trained *trained,
		       const struct records_source *source, struct error *err)
{
	const char *data = source->data;
	int r = data ? list_below(records, trained, source, err)
		     : list_plan(records, trained, source->split, err);

	if (r == -ENOMEM)
		return error_set(err, r, "no memory for the names of shards");
	if (r < 0)
		return r;
	if (records->shards == 0)
		return error_set(err, -ENOENT, "%s: found no shards of the %s split",
				 data ? data : store_url(trained->folder), records_splits[source->split]);
	records->filtered = *records->config->order.filter != '\0';
	if (records->filtered && !filter_parse(records->config->order.filter, &records->filter))
		return error_set(err, -EINVAL, "order.filter: found %s, allowed: " FILTER_ALLOWED,
				 records->config->order.filter);
	return inflater_open(&records->inflater, err);
}

static int open_records(struct records *records, const struct trained *trained,
			const struct records_source *source, const struct model *model, struct error *err)
{
	int r;

	if (records_are_lines(source))
		records->lines = source->lines ? source->lines : &records->own;
	r = records->lines ? 0 : open_shards(records, trained, source, err);
	if (r < 0)
		return r;
	records->place = calloc(records->config->run.batch_rows, sizeof(*records->place));
	if (!records->place)
		return error_set(err, -ENOMEM, "no memory for a batch");
	return columns_open(records->config, model, source->labels, &records->columns, err);
}

int records_open(const struct trained *trained, const struct records_source *source,
		 const struct model *model, struct records **ret_records, struct error *err)
{
	CLEANUP(records_closep) struct records *records = calloc(1, sizeof(*records));
	int r;

	if (!records)
		return error_set(err, -ENOMEM, "no memory");
	records->config = &trained->config;
	r = open_records(records, trained, source, model, err);
	if (r == 0)
		*ret_records = TAKE(records);
	return r;
}

void records_closep(struct records **pointer)
{
	struct records *records = *pointer;

	if (!records)
		return;
	for (uint32_t i = 0; i < records->stores; i++)
		store_close(records->store[i]);
	for (uint32_t i = 0; i < records->shards; i++)
		free(records->shard[i].key);
	lines_done(&records->own);
	columns_done(&records->columns);
	inflater_closep(&records->inflater);
	free(records->place);
	free(records->shard);
	free(records->raw);
	free(records->plain);
	free(records);
}

/* ---- Records ---- */

static int load_shard(struct records *records, struct error *err)
{
	const struct shard_key *shard = &records->shard[records->next_shard++];
	enum compression compression;
	uint64_t bytes;
	int r;

	free(TAKE(records->raw));
	r = store_get_all(records->store[shard->source], shard->key, SHARD_MAX, &records->raw, &bytes, err);
	if (r < 0)
		return r;
	records->data = (const uint8_t *)records->raw;
	records->bytes = bytes;
	records->at = records->record = 0;
	compression = compression_of(records->raw, bytes);
	if (compression == COMPRESSION_NONE)
		return 0;
	r = inflate_into(records->inflater, records->raw, bytes, compression, SHARD_MAX, &records->plain,
			 &records->plain_room, &records->bytes, err);
	records->data = records->plain;
	return r < 0 ? error_prefix(err, "%s", shard->key) : 0;
}

int records_blame(struct records_place place, struct error *err)
{
	return place.key ? error_prefix(err, "%s: record %" PRIu64, place.key, place.record)
			 : error_prefix(err, "line %" PRIu64, place.record);
}

static int refuse(struct records *records, struct records_place place, int code, struct error *err)
{
	(void)records_blame(place, err);
	if (records->config->fetch.bad_record != BAD_RECORD_SKIP)
		return code;
	log_warning("left out: %s", err->text);
	records->skipped++;
	return 0;
}

/* The record at hand into a row: 1 it is in, 0 it does not count. */
static int take_record(struct records *records, uint32_t row, struct error *err)
{
	struct tfrecord record = { 0 };
	int r = tfrecord_next(records->data, records->bytes, records->at, SHARD_MAX, &record, err);

	records->at = r == 0 || r == -EILSEQ ? record.next : records->bytes;
	if (r == 0 && records->filtered &&
	    (r = filter_match(&records->filter, record.data, record.bytes, err)) == 0) {
		records->record++;
		return 0;
	}
	records->place[row] =
		(struct records_place){ records->shard[records->next_shard - 1].key, records->record };
	if (r >= 0)
		r = batch_parse(&records->columns.batch, row, record.data, record.bytes, err);
	r = r < 0 ? refuse(records, records->place[row], r, err) : 1;
	records->record++;
	return r;
}

static int take_line(struct records *records, uint32_t row, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	int r;

	records->ended = !lines_next(records->lines);
	if (records->ended)
		return 0;
	r = lines_object(records->lines, &object, err);
	if (r < 0)
		return r;
	records->place[row] = (struct records_place){ NULL, records->lines->number };
	r = features_take(&records->columns, records->config, object, row, err);
	return r < 0 ? records_blame(records->place[row], err) : 1;
}

/* 1 a row more, 0 none: there may be more if not `ended`. */
static int take_row(struct records *records, uint32_t row, struct error *err)
{
	if (records->lines)
		return take_line(records, row, err);
	if (records->at < records->bytes)
		return take_record(records, row, err);
	records->ended = records->next_shard == records->shards;
	return records->ended ? 0 : load_shard(records, err);
}

int records_next(struct records *records, struct model_batch *ret_batch, struct error *err)
{
	uint32_t rows = 0;
	int r = 0;

	while (r >= 0 && !records->ended && rows < records->config->run.batch_rows) {
		r = take_row(records, rows, err);
		rows += r == 1;
	}
	if (r < 0 || rows == 0)
		return r < 0 ? r : 0;
	columns_batch(&records->columns, rows, records->rows, ret_batch);
	records->rows += rows;
	return 1;
}

struct records_place records_place(const struct records *records, uint32_t row)
{
	return records->place[row];
}

uint64_t records_skipped(const struct records *records)
{
	return records->skipped;
}

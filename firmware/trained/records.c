/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/records.h"

#include "core/base/log.h"
#include "trained/columns.h"
#include "trained/features.h"
#include "trained/rows.h"
#include "trained/shards.h"
#include "trained/table_row.h"
#include "trained/whole_shard.h"

#include <inttypes.h>
#include <string.h>

struct records {
	const struct config *config;
	struct shards shards;
	uint64_t next_shard;
	const char *key; /* key of the current shard */
	struct whole_shard shard;
	bool as_it_is_now, unattended;
	bool objects, unread; /* each object is a record; the current one has not been read */
	bool filtered;
	struct filter filter;
	struct lines *lines; /* not NULL: the records are read from these lines, and not from shards */
	struct lines own;    /* storage for `lines` where the caller gives no lines */
	struct rows *table;  /* not NULL: the caller reads the records; neither lines nor shards */
	cJSON *dataset;      /* dataset.json beside the model, for lines and rows; NULL = none */
	struct table_row *table_row;

	struct columns columns;
	const struct trained *also; /* the second model; NULL = none */
	struct columns second;
	struct records_origin *origin; /* origin of each row of the current batch */
	uint64_t rows, skipped, changed;
	uint32_t batch_rows; /* rows of the current batch */
	bool ended;
};

/* ---- Open and close ---- */

static int open_shards(struct records *records, const struct trained *trained,
		       const struct records_source *source, struct error *err)
{
	int r = shards_open(trained, source, &records->shards, err);

	if (r < 0)
		return r;
	records->filtered = *records->config->order.filter != '\0';
	if (records->filtered && !filter_parse(records->config->order.filter, &records->filter))
		return error_set(err, -EINVAL, "order.filter: found %s, allowed: " FILTER_ALLOWED,
				 records->config->order.filter);
	return 0;
}

/* Lists what the columns of the input lack, and marks those that the model does not need. */
static void match_columns(struct records *records, char *missing, size_t size)
{
	const struct rows *rows = records->table;
	const char *name, *feature;

	for (uint32_t i = 0; i < rows->names; i++)
		rows->unread[i] = true;
	for (uint32_t c = 0; (name = table_row_column(records->table_row, c, &feature)); c++) {
		const struct config_feature *read =
			feature ? config_feature_named(records->config, feature) : NULL;
		const size_t used = strlen(missing);
		uint32_t i = 0;

		if (!read || !columns_reads(&records->columns, (uint32_t)(read - records->config->feature)))
			continue;
		while (i < rows->names && strcmp(rows->name[i], name) != 0)
			i++;
		if (i < rows->names)
			rows->unread[i] = false;
		else
			(void)snprintf(missing + used, size - used, "%s\"%s\"", used ? ", " : "", name);
	}
}

static int check_columns(struct records *records, const struct trained *trained, struct error *err)
{
	char missing[256] = "";

	if (!records->table || !records->table->name)
		return 0;
	if (!records->table_row)
		return error_set(err, -EINVAL,
				 "%s: found a table with columns, but %s was not trained on shards that kiln "
				 "prep made of a table; expected JSON lines with its features",
				 records->table->source, trained->name);
	match_columns(records, missing, sizeof(missing));
	return *missing ? error_set(err, -EBADMSG, "%s: found no column %s, which the model reads",
				    records->table->source, missing)
			: 0;
}

static int open_lines(struct records *records, const struct trained *trained,
		      const struct records_source *source, struct error *err)
{
	int r = trained_dataset(trained, &records->dataset, err);

	records->table = source->rows;
	if (!records->table)
		records->lines = source->lines ? source->lines : &records->own;
	return r < 0 ? r
		     : table_row_open(records->dataset, records->config, source->labels, &records->table_row,
				      err);
}

static int open_records(struct records *records, const struct trained *trained,
			const struct records_source *source, const struct model *model, struct error *err)
{
	int r = records_are_lines(source) ? open_lines(records, trained, source, err)
					  : open_shards(records, trained, source, err);

	if (r < 0)
		return r;
	records->origin = calloc(records->config->run.batch_rows, sizeof(*records->origin));
	if (!records->origin)
		return error_set(err, -ENOMEM, "no memory for a batch");
	r = columns_open(records->config, model, source->labels, &records->columns, err);
	return r < 0 ? r : check_columns(records, trained, err);
}

int records_open(const struct trained *trained, const struct records_source *source,
		 const struct model *model, struct records **ret_records, struct error *err)
{
	CLEANUP(records_closep) struct records *records = calloc(1, sizeof(*records));
	int r;

	if (!records)
		return error_set(err, -ENOMEM, "no memory");
	records->config = &trained->saved.config;
	records->as_it_is_now = source->as_it_is_now;
	records->unattended = trained->unattended;
	records->objects = config_reads_objects(records->config);
	r = open_records(records, trained, source, model, err);
	if (r == 0)
		*ret_records = TAKE(records);
	return r;
}

int records_also(struct records *records, const struct trained *second, struct error *err)
{
	const struct config *config = &second->saved.config;

	if (config_reads_objects(config) != records->objects)
		return error_set(err, -EINVAL, "%s reads %s, and these records are %s", second->name,
				 records->objects ? "records of shards" : "objects",
				 records->objects ? "objects" : "records of shards");
	records->also = second;
	return columns_open(config, second->model, false, &records->second, err);
}

void records_closep(struct records **pointer)
{
	struct records *records = *pointer;

	if (!records)
		return;
	shards_done(&records->shards);
	lines_done(&records->own);
	columns_done(&records->columns);
	columns_done(&records->second);
	table_row_freep(&records->table_row);
	json_free(&records->dataset);
	whole_shard_done(&records->shard);
	free(records->origin);
	free(records);
}

/* ---- Records ---- */

/* Gets a shard of the plan, or says what to do where it has changed since the run. */
static int get_planned(struct records *records, const struct plan_shard *shard, struct error *err)
{
	struct store *store = records->shards.store[shard->source];
	int r = whole_shard_get_pinned(&records->shard, store, shard, err);

	if (r != -ESTALE)
		return r;
	if (!records->as_it_is_now) {
		(void)error_prefix(err, "%s has changed since the run%s", shard->key,
				   records->unattended ? "" : ", --data-as-it-is-now reads it as it is now");
		return r;
	}
	log_warning("%s has changed since the run, reading it as it is now: %s", shard->key, err->text);
	records->changed++;
	return whole_shard_get(&records->shard, store, shard->key, err);
}

static int load_shard(struct records *records, struct error *err)
{
	const struct plan_shard shard = shards_get(&records->shards, records->next_shard++);
	int r;

	records->key = shard.key;
	r = records->shards.plan ? get_planned(records, &shard, err)
				 : whole_shard_get(&records->shard, records->shards.store[0], shard.key, err);
	if (r < 0)
		return r;
	records->unread = records->objects;
	if (records->objects)
		return 0;
	return whole_shard_inflate(&records->shard, err) < 0 ? error_prefix(err, "%s", shard.key) : 0;
}

int records_blame(struct records_origin origin, struct error *err)
{
	if (origin.key)
		return error_prefix(err, "%s: record %" PRIu64, origin.key, origin.record);
	return error_prefix(err, "%s%sline %" PRIu64, origin.input ? origin.input : "",
			    origin.input ? ": " : "", origin.record);
}

static int refuse(struct records *records, struct records_origin origin, int r, struct error *err)
{
	(void)records_blame(origin, err);
	if (records->config->fetch.bad_record != BAD_RECORD_SKIP)
		return r;
	log_warning("left out: %s", err->text);
	records->skipped++;
	return 0;
}

/* Says that the second model cannot read a record. Without it the two would not be measured on the same
 * records, so the record is not left out. */
static int blame_second(const struct records *records, uint32_t row, struct error *err)
{
	(void)records_blame(records->origin[row], err);
	return error_prefix(err, "%s cannot read it", records->also->name);
}

/* Writes the next record of the shard into a row. Returns 1, or 0 where the filter drops the record or the
 * record is bad and is left out. */
static int add_record(struct records *records, uint32_t row, struct error *err)
{
	struct tfrecord record;
	int r;

	records->origin[row] = (struct records_origin){ records->key, records->shard.record, NULL };
	r = whole_shard_next(&records->shard, records->filtered ? &records->filter : NULL, WHOLE_SHARD_MAX,
			     &record, err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = batch_parse(&records->columns.batch, records->columns.decoder, row, record.data,
				record.bytes, NULL, err);
	if (r < 0)
		return refuse(records, records->origin[row], r, err);
	if (records->also && batch_parse(&records->second.batch, records->second.decoder, row, record.data,
					 record.bytes, NULL, err) < 0)
		return blame_second(records, row, err);
	return 1;
}

/* Writes the current object into a row, as add_record() does with a record. */
static int add_object(struct records *records, uint32_t row, struct error *err)
{
	uint64_t class = 0;
	int r = 0;

	records->unread = false;
	records->origin[row] = (struct records_origin){ records->key, 0, NULL };
	if (records->columns.labels && (r = shards_class(&records->shards, records->key, &class, err)) < 0)
		return r;
	r = batch_object(&records->columns.batch, records->columns.decoder, row, records->shard.data,
			 records->shard.bytes, class, NULL, err);
	if (r < 0)
		return refuse(records, records->origin[row], r, err);
	if (records->also && batch_object(&records->second.batch, records->second.decoder, row,
					  records->shard.data, records->shard.bytes, class, NULL, err) < 0)
		return blame_second(records, row, err);
	return 1;
}

/* Reads the next line or row. Returns 1; 0 at the end. */
static int next_object(struct records *records, cJSON **ret_object, uint64_t *ret_line, struct error *err)
{
	if (records->table)
		return records->table->next(records->table, ret_object, ret_line, err);
	if (!lines_next(records->lines))
		return 0;
	*ret_line = records->lines->number;
	return lines_object(records->lines, ret_object, err) < 0 ? err->code : 1;
}

static int add_line(struct records *records, uint32_t row, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	uint64_t line;
	int r = next_object(records, &object, &line, err);

	records->ended = r == 0;
	if (r <= 0)
		return r;
	records->origin[row] =
		(struct records_origin){ NULL, line, records->table ? records->table->source : NULL };
	r = table_row_translate(records->table_row, object, err);
	if (r == 0)
		r = features_add(&records->columns, records->config, object, row, err);
	return r < 0 ? records_blame(records->origin[row], err) : 1;
}

/* Writes the next row. Returns 1 where it wrote the row; 0 where it did not: call it again unless `ended` is
 * set. */
static int add_row(struct records *records, uint32_t row, struct error *err)
{
	if (records->lines || records->table)
		return add_line(records, row, err);
	if (records->unread)
		return add_object(records, row, err);
	if (!records->objects && records->shard.at < records->shard.bytes)
		return add_record(records, row, err);
	records->ended = records->next_shard == records->shards.count;
	return records->ended ? 0 : load_shard(records, err);
}

int records_next(struct records *records, struct model_batch *ret_batch, struct error *err)
{
	uint32_t rows = 0;
	int r = 0;

	while (r >= 0 && !records->ended && rows < records->config->run.batch_rows) {
		r = add_row(records, rows, err);
		rows += r == 1;
	}
	if (r < 0 || rows == 0)
		return r < 0 ? r : 0;
	columns_batch(&records->columns, rows, records->rows, ret_batch);
	records->batch_rows = rows;
	records->rows += rows;
	return 1;
}

void records_second(struct records *records, struct model_batch *ret_batch)
{
	columns_batch(&records->second, records->batch_rows, records->rows - records->batch_rows, ret_batch);
}

struct records_origin records_origin(const struct records *records, uint32_t row)
{
	return records->origin[row];
}

uint64_t records_skipped(const struct records *records)
{
	return records->skipped;
}

uint64_t records_changed(const struct records *records)
{
	return records->changed;
}

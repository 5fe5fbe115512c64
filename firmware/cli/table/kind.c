/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/kind.h"

#include "cli/prep/parallel.h"
#include "cli/table/columns.h"
#include "cli/table/describe.h"
#include "cli/table/follow.h"
#include "cli/table/read.h"
#include "cli/table/table.h"
#include "core/base/number.h"

#include <inttypes.h>
#include <string.h>

#define SHARD_BYTES  (16u << 20) /* usual size of a shard before gzip */
#define SHARDS_LEAST 20u         /* so many train, where there are enough rows */
#define SHARD_TIMES  4u          /* memory of a thread that makes a shard, in shards */
#define ROW_BYTES    64u         /* of a record beside its values */

/* ---- Before the first record ---- */

/* Counts the rows of the parts in front of each part. */
static int count_parts(struct table *table, struct error *err)
{
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		uint64_t *start = malloc((SPILL_PARTS + 1) * sizeof(*start));

		if (!start)
			return error_set(err, -ENOMEM, "no memory for %u parts", SPILL_PARTS);
		table->start[s] = start;
		start[0] = 0;
		for (uint32_t p = 0; p < SPILL_PARTS; p++)
			start[p + 1] = start[p] + spill_rows(table->spill, p, (enum texts_split)s);
	}
	return 0;
}

static uint64_t usual_bytes(const struct table *table)
{
	uint64_t bytes = ROW_BYTES, rows = 0;

	for (int s = 0; s < TEXTS_SPLITS; s++)
		rows += table->rows[s];
	for (uint32_t c = 0; c < table->columns; c++) {
		const struct table_column *column = &table->column[c];

		if (column->feature != TABLE_NO_COLUMN)
			bytes += column->type == TABLE_BYTES
					 ? column->facts.bytes / rows + strlen(column->name)
					 : sizeof(float) + strlen(column->name) + 16;
	}
	return bytes;
}

/* Threads that make shards need memory for a part and for a shard. */
static int limit_threads(const struct table *table, struct error *err)
{
	const uint64_t part = spill_largest(table->spill), one = SHARD_TIMES * SHARD_BYTES + 2 * part,
		       most = table->memory_bytes / one;

	if (part > table->memory_bytes / 2)
		return error_set(err, -E2BIG,
				 "%s: a part of the rows has %" PRIu64
				 " bytes: give a larger --memory, now %" PRIu64 " MiB",
				 table->input[0], part, table->memory_bytes >> 20);
	if (parallel_count() > most)
		parallel_threads((uint32_t)(most ? most : 1));
	return 0;
}

static int take_rows(struct prep *prep, struct error *err)
{
	const struct table *table = prep->table;
	const uint64_t fit = SHARD_BYTES / usual_bytes(table), even = table->rows[TEXTS_TRAIN] / SHARDS_LEAST;

	for (int s = 0; s < TEXTS_SPLITS; s++) {
		if (table->rows[s] >= UINT32_MAX)
			return error_set(err, -E2BIG, "%s: found %" PRIu64 " rows, expected fewer than %u",
					 table->input[0], table->rows[s], UINT32_MAX);
		prep->rows[s] = (uint32_t)table->rows[s];
	}
	if (!prep->records_per_shard && !prep->shard_bytes)
		prep->records_per_shard = even < 1 ? 1 : even < fit ? even : fit ? fit : 1;
	prep->classes = table->label != TABLE_NO_COLUMN && table->column[table->label].type == TABLE_CATEGORY
				? table->column[table->label].ids
				: 0;
	return 0;
}

static int make(struct prep *prep, struct error *err)
{
	struct table *table = prep->table;
	int r = prep->mode == PREP_APPEND ? follow_options(table, prep->there.dataset, err) : 0;

	if (r < 0 || (r = table_read(table, err)) < 0 ||
	    (r = table->first ? follow_decide(table, err) : columns_decide(table, err)) < 0 ||
	    (r = count_parts(table, err)) < 0 || (r = limit_threads(table, err)) < 0)
		return r;
	(void)snprintf(prep->id, sizeof(prep->id), "%08" PRIx32, table->crc);
	return take_rows(prep, err);
}

static void schema(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes)
{
	columns_schema(prep->table, ret_schema);
	*ret_bytes = usual_bytes(prep->table);
}

/* ---- A record ---- */

/* The state of a thread that makes a shard: the rows of one part, and the values of one record. */
struct scratch {
	bool loaded;
	uint32_t number; /* of the part */
	struct spill_part part;
	float numbers[TABLE_COLUMNS_MAX]; /* of the feature with many numbers */
	float one[EXAMPLE_FEATURES_MAX];  /* of the others */
	int64_t whole[EXAMPLE_FEATURES_MAX];
	char *bytes[EXAMPLE_FEATURES_MAX];
};

static uint64_t scratch_bytes(const struct prep *prep)
{
	(void)prep;
	return sizeof(struct scratch);
}

static void scratch_done(void *memory)
{
	struct scratch *scratch = memory;

	spill_part_done(&scratch->part);
	for (uint32_t f = 0; f < EXAMPLE_FEATURES_MAX; f++)
		free(scratch->bytes[f]);
}

/* Loads the part that has a row of a split. The rows of a shard come one after the other. */
static int load(const struct table *table, struct scratch *scratch, enum texts_split split, uint32_t row,
		struct error *err)
{
	const uint64_t *start = table->start[split];
	uint32_t part = scratch->loaded ? scratch->number : 0;

	while (row >= start[part + 1])
		part++;
	if (scratch->loaded && part == scratch->number)
		return 0;
	spill_part_done(&scratch->part);
	scratch->loaded = true;
	scratch->number = part;
	return spill_load(table->spill, part, &scratch->part, err);
}

static int put_bytes(const struct table_column *column, struct scratch *scratch, const char *text,
		     uint64_t bytes, struct error *err)
{
	const uint64_t most = column->facts.longest;
	char **memory = &scratch->bytes[column->feature];
	const uint32_t length = (uint32_t)bytes;

	if (!*memory)
		*memory = calloc(1, sizeof(length) + most + sizeof(length));
	if (!*memory)
		return error_set(err, -ENOMEM, "no memory for a value of %" PRIu64 " bytes", most);
	memcpy(*memory, &length, sizeof(length));
	memcpy(*memory + sizeof(length), text, bytes);
	memset(*memory + sizeof(length) + bytes, 0, most - bytes);
	return 0;
}

static float number_of(const struct table_column *column, const char *text, uint64_t bytes)
{
	double number = column->fill;
	bool whole;

	if (bytes)
		(void)!number_parse(text, bytes, &number, &whole);
	return (float)number;
}

static int64_t whole_of(const struct table_column *column, const char *text, uint64_t bytes)
{
	uint32_t value;

	if (column->type == TABLE_INT)
		return bytes ? strtoll(text, NULL, 10) : (int64_t)column->fill;
	value = bytes ? values_find(column->values, text, bytes) : VALUES_NONE;
	return value == VALUES_NONE ? 0 : column->id[value];
}

static int put_value(const struct table *table, uint32_t c, struct scratch *scratch, const char *text,
		     const void **ret_rows, struct error *err)
{
	const struct table_column *column = &table->column[c];
	const uint32_t feature = column->feature;
	const uint64_t bytes = strlen(text);
	int r = 0;

	if (column->type == TABLE_FLOAT && table->together && c != table->label) {
		scratch->numbers[column->place] = number_of(column, text, bytes);
		ret_rows[feature] = scratch->numbers;
	} else if (column->type == TABLE_FLOAT) {
		scratch->one[feature] = number_of(column, text, bytes);
		ret_rows[feature] = &scratch->one[feature];
	} else if (column->type == TABLE_BYTES) {
		r = put_bytes(column, scratch, text, bytes, err);
		ret_rows[feature] = scratch->bytes[feature];
	} else {
		scratch->whole[feature] = whole_of(column, text, bytes);
		ret_rows[feature] = &scratch->whole[feature];
	}
	return r;
}

static int record(const struct prep *prep, enum texts_split split, uint32_t row, void *memory,
		  const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err)
{
	const struct table *table = prep->table;
	struct scratch *scratch = memory;
	const char *text;
	int r = load(table, scratch, split, row, err);

	if (r < 0)
		return r;
	text = scratch->part.row[scratch->part.first[split] + row - table->start[split][scratch->number]]
		       ->fields;
	for (uint32_t c = 0; r == 0 && c < table->columns; c++) {
		if (table->column[c].dropped)
			continue;
		if (table->column[c].feature != TABLE_NO_COLUMN)
			r = put_value(table, c, scratch, text, ret_rows, err);
		text += strlen(text) + 1;
	}
	return r;
}

static void class_name(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES])
{
	const struct table_column *label = &prep->table->column[prep->table->label];

	(void)snprintf(ret_name, TEXTS_LABEL_BYTES, "%s",
		       values_text(label->values, label->by_id[class], NULL));
}

static void describe(const struct prep *prep, cJSON *json)
{
	describe_table(prep->table, json);
}

static void summary(const struct prep *prep, cJSON *json)
{
	if (json)
		json_add_u64(json, "bad_rows", prep->table->bad_rows);
	else
		describe_print(prep->table);
}

const struct prep_kind prep_table = {
	.what = "rows of a table",
	.feature = "a feature a column",
	.make = make,
	.schema = schema,
	.scratch_bytes = scratch_bytes,
	.record = record,
	.scratch_done = scratch_done,
	.class_name = class_name,
	.describe = describe,
	.summary = summary,
	.ungrouped = true,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/read.h"

#include "cli/prep/parallel.h"
#include "cli/table/blocks.h"
#include "cli/table/csv.h"
#include "cli/table/follow.h"
#include "cli/table/lines.h"
#include "core/base/visible.h"
#include "data/crc32c.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define WORKER_BYTES (32u << 20)           /* of a worker: a block, its rows, their values */
#define SPILL_SHARE  8                     /* of --memory, for rows */
#define VALUES_BYTES (UINT64_C(128) << 20) /* of the different values of all columns */
#define BAD_PRINTED  10u

struct reading {
	struct table *table;
	struct blocks *blocks;
	pthread_mutex_t input_lock; /* of `blocks` */
	pthread_mutex_t turn_lock;  /* of all below, and of the counts of the table */
	pthread_cond_t turned;
	uint64_t turn; /* the number of the block that is added next */
	uint64_t line; /* lines of the input before this block */
	uint64_t values_bytes;
	struct error err; /* the first error; no further blocks are read */
};

static bool has_failed(struct reading *reading)
{
	return __atomic_load_n(&reading->err.code, __ATOMIC_RELAXED) != 0;
}

/* ---- One block in its turn ---- */

static int refuse(const struct reading *reading, const struct block *block, const struct table_bad *bad,
		  struct error *err)
{
	return error_set(err, -EBADMSG, "%s: line %" PRIu64 "%s", reading->table->input[block->input],
			 reading->line + bad->line + 1, bad->text);
}

static int add_bads(struct reading *reading, const struct block *block, const struct parsed *rows,
		    struct error *err)
{
	struct table *table = reading->table;
	struct error bad = { 0 };

	if (rows->bads && !table->skip_bad)
		return refuse(reading, block, &rows->bad[0], err);
	for (uint64_t i = 0; i < rows->bads && i < PARSED_BAD_MAX && table->bad_rows + i < BAD_PRINTED; i++) {
		(void)refuse(reading, block, &rows->bad[i], &bad);
		fprintf(stderr, "left out: %s\n", bad.text);
	}
	table->bad_rows += rows->bads;
	return 0;
}

static void add_facts(struct table_facts *to, const struct table_facts *from)
{
	if (from->numbers) {
		to->min = to->numbers == 0 || from->min < to->min ? from->min : to->min;
		to->max = to->numbers == 0 || from->max > to->max ? from->max : to->max;
	}
	to->values += from->values;
	to->missing += from->missing;
	to->bytes += from->bytes;
	to->numbers += from->numbers;
	to->whole += from->whole;
	to->train_sum += from->train_sum;
	to->train_numbers += from->train_numbers;
	to->longest = from->longest > to->longest ? from->longest : to->longest;
	if (!*to->text)
		memcpy(to->text, from->text, sizeof(to->text));
}

/* Forgets the values of a column that has too many. Workers see NULL from their next block on. */
static void forget_values(struct table_column *column)
{
	struct values *values = column->values;

	__atomic_store_n(&column->values, NULL, __ATOMIC_RELAXED);
	values_free(values);
}

static int add_values(struct reading *reading, struct table_column *column, const struct values *from,
		      struct error *err)
{
	uint64_t before;

	if (!column->values)
		return 0;
	before = values_bytes(column->values);
	for (uint32_t i = 0; i < values_count(from); i++) {
		uint64_t bytes;
		const char *text = values_text(from, i, &bytes);

		if (values_add(column->values, text, bytes, values_rows(from, i)) == VALUES_NONE)
			return error_set(err, -ENOMEM, "no memory for the values of the column \"%s\"",
					 column->name);
	}
	reading->values_bytes += values_bytes(column->values) - before;
	if (values_count(column->values) > reading->table->categories) {
		reading->values_bytes -= values_bytes(column->values);
		forget_values(column);
	} else if (reading->values_bytes > VALUES_BYTES) {
		return error_set(err, -E2BIG,
				 "the different values of all columns need more than %" PRIu64
				 " bytes: give a smaller --categories, or --drop columns",
				 VALUES_BYTES);
	}
	return 0;
}

static int add_rows(struct table *table, const struct parsed *rows, struct error *err)
{
	for (uint64_t at = 0; at < rows->used;) {
		const struct spill_row *row = (const struct spill_row *)(rows->data + at);
		int r = spill_add(table->spill, row, err);

		if (r < 0)
			return r;
		at += row->bytes;
	}
	for (int s = 0; s < TEXTS_SPLITS; s++)
		table->rows[s] += rows->rows[s];
	return 0;
}

static int add_block(struct reading *reading, const struct block *block, const struct parsed *rows,
		     uint32_t crc, struct error *err)
{
	struct table *table = reading->table;
	int r;

	if (block->first)
		reading->line = block->head_lines;
	if (block->too_long)
		return error_set(
			err, -EBADMSG,
			"%s: line %" PRIu64
			": found a row of more than %u bytes, expected fewer; is a quote not closed?",
			table->input[block->input], reading->line + 1, TABLE_BLOCK_BYTES);
	if ((r = add_bads(reading, block, rows, err)) < 0)
		return r;
	for (uint32_t c = 0; c < table->columns; c++) {
		add_facts(&table->column[c].facts, &rows->facts[c]);
		if (rows->values[c] && (r = add_values(reading, &table->column[c], rows->values[c], err)) < 0)
			return r;
	}
	table->crc = crc32c(table->crc, &crc, sizeof(crc));
	reading->line += rows->lines;
	return add_rows(table, rows, err);
}

/* ---- Workers ---- */

static void fail(struct reading *reading, const struct error *err)
{
	(void)pthread_mutex_lock(&reading->turn_lock);
	if (!reading->err.code)
		reading->err = *err;
	(void)pthread_mutex_unlock(&reading->turn_lock);
}

/* After an error no block has a number, so no worker waits for the turn of a block that nobody has. */
static int next_block(struct reading *reading, char *data, struct block *ret_block, struct error *err)
{
	int r;

	(void)pthread_mutex_lock(&reading->input_lock);
	r = has_failed(reading) ? 0 : blocks_next(reading->blocks, data, ret_block, err);
	if (r < 0)
		fail(reading, err);
	(void)pthread_mutex_unlock(&reading->input_lock);
	return r;
}

/* Waits for the turn of a block, and adds it. */
static void take_turn(struct reading *reading, const struct block *block, const struct parsed *rows, int r,
		      const struct error *parse_err)
{
	const uint32_t crc = crc32c(0, rows->data, rows->used);

	(void)pthread_mutex_lock(&reading->turn_lock);
	while (reading->turn != block->number)
		(void)pthread_cond_wait(&reading->turned, &reading->turn_lock);
	if (!reading->err.code) {
		struct error err = { 0 };

		if (r < 0)
			err = *parse_err;
		else
			(void)!add_block(reading, block, rows, crc, &err);
		if (err.code)
			reading->err = err;
	}
	reading->turn++;
	(void)pthread_cond_broadcast(&reading->turned);
	(void)pthread_mutex_unlock(&reading->turn_lock);
}

static int parse(struct parsed *rows, const struct block *block, struct error *err)
{
	int r = parsed_begin(rows, block, err);

	if (r < 0 || block->too_long)
		return r;
	return rows->table->format == TABLE_LINES ? lines_parse_block(rows, block->data, block->bytes, err)
						  : csv_parse_block(rows, block->data, block->bytes, err);
}

static int work(struct reading *reading, struct parsed *rows, struct error *err)
{
	CLEANUP(free_ptr) char *data = malloc(TABLE_BLOCK_BYTES + 1);
	struct block block;
	int r = parsed_init(rows, reading->table, err);

	if (r == 0 && !data)
		r = error_set(err, -ENOMEM, "no memory for a block of %u bytes", TABLE_BLOCK_BYTES);
	while (r == 0 && (r = next_block(reading, data, &block, err)) > 0) {
		struct error parse_err = { 0 };

		r = parse(rows, &block, &parse_err);
		take_turn(reading, &block, rows, r, &parse_err);
		r = 0;
	}
	return r;
}

static void worker(void *context, uint32_t index)
{
	struct reading *reading = context;
	struct parsed *rows = calloc(1, sizeof(*rows)); /* large for a stack */
	struct error err = { 0 };
	int r;

	(void)index;
	r = rows ? work(reading, rows, &err) : error_set(&err, -ENOMEM, "no memory for the rows of a block");
	if (rows)
		parsed_done(rows);
	free(rows);
	if (r < 0)
		fail(reading, &err);
}

int table_read(struct table *table, struct error *err)
{
	struct reading reading = { .table = table,
				   .input_lock = PTHREAD_MUTEX_INITIALIZER,
				   .turn_lock = PTHREAD_MUTEX_INITIALIZER,
				   .turned = PTHREAD_COND_INITIALIZER };
	const uint64_t most = table->memory_bytes / 2 / WORKER_BYTES;
	int r = blocks_open(table, &reading.blocks, err);

	if (r == 0 && table->first)
		r = follow_columns(table, err);
	if (r == 0)
		r = spill_open(table->memory_bytes / SPILL_SHARE, &table->spill, err);
	if (r == 0) {
		const uint32_t workers = parallel_count();

		parallel_run(worker, &reading, workers > most ? (uint32_t)(most ? most : 1) : workers);
		*err = reading.err;
		r = reading.err.code;
	}
	blocks_close(reading.blocks);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/blocks.h"

#include "cli/table/csv.h"
#include "cli/table/input.h"
#include "cli/table/lines.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <string.h>

struct blocks {
	struct table *table;
	struct input *input;
	uint32_t inputs; /* that were opened */
	uint64_t number;
	bool at_begin; /* the next block is the first of its input */
	bool at_end;   /* the input has no bytes after `rest` */
	uint64_t rest_bytes;
	char *rest; /* bytes behind the last whole row */
	/* The first block, which blocks_open() has read. */
	bool kept;
	struct block kept_block;
	char *kept_data;
};

void blocks_close(struct blocks *blocks)
{
	if (!blocks)
		return;
	input_close(blocks->input);
	free(blocks->rest);
	free(blocks->kept_data);
	free(blocks);
}

static const char *name_of(const struct blocks *blocks)
{
	return blocks->table->input[blocks->inputs - 1];
}

/* Opens the next input. Returns 0 where there is none. */
static int next_input(struct blocks *blocks, struct error *err)
{
	int r;

	input_close(blocks->input);
	blocks->input = NULL;
	if (blocks->inputs == blocks->table->inputs)
		return 0;
	r = input_open(&blocks->table->where, blocks->table->input[blocks->inputs], &blocks->input, err);
	blocks->inputs++;
	blocks->at_begin = true;
	blocks->at_end = false;
	return r < 0 ? r : 1;
}

/* Returns how many bytes are whole rows. */
static uint64_t whole_rows(const struct table *table, const char *data, uint64_t bytes)
{
	const char *end;

	if (table->format != TABLE_LINES)
		return csv_whole_rows(data, bytes, csv_delimiter(table->format));
	end = memrchr(data, '\n', bytes);
	return end ? (uint64_t)(end - data) + 1 : 0;
}

/* Takes the header off the first block of an input. */
static int take_head(struct blocks *blocks, struct block *block, struct error *err)
{
	struct table *table = blocks->table;
	const uint64_t mark = utf8_mark(block->data, block->bytes);
	uint64_t bytes = 0;
	int r;

	block->data += mark;
	block->bytes -= mark;
	if (table->format == TABLE_LINES)
		return table->columns ? 0
				      : lines_columns(table, name_of(blocks), block->data, block->bytes, err);
	if (table->columns_said)
		return 0;
	r = csv_header(table, name_of(blocks), block->data, block->bytes, &bytes, &block->head_lines, err);
	block->data += bytes;
	block->bytes -= bytes;
	return r;
}

/* Fills a block with the rest of the last one and with new bytes. */
static int fill(struct blocks *blocks, char *data, struct block *block, struct error *err)
{
	uint64_t bytes = 0, whole;
	int r;

	memcpy(data, blocks->rest, blocks->rest_bytes);
	r = input_read(blocks->input, data + blocks->rest_bytes, TABLE_BLOCK_BYTES - blocks->rest_bytes,
		       &bytes, err);
	if (r < 0)
		return r;
	bytes += blocks->rest_bytes;
	blocks->at_end = bytes < TABLE_BLOCK_BYTES;
	whole = blocks->at_end ? bytes : whole_rows(blocks->table, data, bytes);
	*block = (struct block){ .number = blocks->number++,
				 .input = blocks->inputs - 1,
				 .first = blocks->at_begin,
				 .too_long = whole == 0 && bytes > 0,
				 .data = data,
				 .bytes = whole };
	blocks->rest_bytes = bytes - whole;
	memcpy(blocks->rest, data + whole, blocks->rest_bytes);
	data[whole] = '\0';
	return block->too_long || !blocks->at_begin ? 0 : take_head(blocks, block, err);
}

int blocks_next(struct blocks *blocks, char *data, struct block *ret_block, struct error *err)
{
	int r;

	if (blocks->kept) {
		blocks->kept = false;
		*ret_block = blocks->kept_block;
		memcpy(data, blocks->kept_data, TABLE_BLOCK_BYTES + 1);
		ret_block->data = data + (blocks->kept_block.data - blocks->kept_data);
		return 1;
	}
	if (!blocks->input)
		return 0;
	if (blocks->at_end && (r = next_input(blocks, err)) <= 0)
		return r;
	r = fill(blocks, data, ret_block, err);
	blocks->at_begin = false;
	return r < 0 ? r : 1;
}

int blocks_open(struct table *table, struct blocks **ret_blocks, struct error *err)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	int r = blocks ? 0 : error_set(err, -ENOMEM, "no memory for a block");

	if (r < 0)
		return r;
	*ret_blocks = blocks;
	blocks->table = table;
	blocks->rest = malloc(TABLE_BLOCK_BYTES);
	blocks->kept_data = malloc(TABLE_BLOCK_BYTES + 1);
	if (!blocks->rest || !blocks->kept_data)
		return error_set(err, -ENOMEM, "no memory for a block of %u bytes", TABLE_BLOCK_BYTES);
	if (table->columns_said && (r = csv_columns_said(table, err)) < 0)
		return r;
	if ((r = next_input(blocks, err)) < 0 ||
	    (r = blocks_next(blocks, blocks->kept_data, &blocks->kept_block, err)) < 0)
		return r;
	blocks->kept = true;
	return 0;
}

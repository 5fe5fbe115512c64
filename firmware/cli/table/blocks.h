/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the bytes of all inputs into blocks of whole rows. One thread at a time. */
#pragma once

#include "cli/table/table.h"

/* Whole rows of one input, at most TABLE_BLOCK_BYTES. */
struct block {
	uint64_t number;     /* of all blocks, from 0 */
	uint32_t input;      /* index of the input */
	uint64_t head_lines; /* lines in front of the block that are no rows: the header of an input */
	bool first;          /* the first block of its input */
	bool too_long;       /* its first row is longer than a block */
	char *data;
	uint64_t bytes;
};

struct blocks;

/* Opens the first input and takes the names of the columns: --columns, the header, or the keys of the first
 * block of JSON lines. Errors: those of input_open(), input_read() and table_name_columns(). */
MUST_CHECK int blocks_open(struct table *table, struct blocks **ret_blocks, struct error *err);
void blocks_close(struct blocks *blocks);

/* Gets the next block, in data of the caller with room for TABLE_BLOCK_BYTES + 1 bytes; block->data is in it.
 * Returns 1; 0 after the last block. Errors: those of input_open() and input_read(); -EBADMSG an input has
 * another header than the first. */
MUST_CHECK int blocks_next(struct blocks *blocks, char *data, struct block *ret_block, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of one block: each row is checked, counted in the facts of its columns, and stored as a struct
 * spill_row with its split and its key. A thread has its own struct parsed, and reads struct table.
 *
 * Order: parsed_init -> (parsed_begin -> parser -> the results)* -> parsed_done. A parser calls
 * parsed_begin_row, parsed_field for each value, and parsed_end_row or parsed_bad, for each row.
 */
#pragma once

#include "cli/table/blocks.h"
#include "cli/table/table.h"

#define PARSED_BAD_MAX 16u /* bad rows of a block whose texts are kept */

struct parsed {
	const struct table *table;
	/* ---- The row that is parsed ---- */
	uint64_t line;
	char *field; /* its values, each with a NUL */
	uint64_t field_used, field_capacity;
	uint64_t at[TABLE_COLUMNS_MAX + 1]; /* where each value begins in `field` */
	uint32_t fields;
	double number[TABLE_COLUMNS_MAX];
	bool is_number[TABLE_COLUMNS_MAX], is_whole[TABLE_COLUMNS_MAX], is_missing[TABLE_COLUMNS_MAX];
	/* ---- The block ---- */
	uint64_t block; /* its number */
	bool is_test;   /* it belongs to the test split's input */
	uint64_t lines; /* in the block */
	uint64_t count; /* rows that are stored */
	char *data;     /* these rows, struct spill_row one after the other */
	uint64_t used, capacity;
	struct table_facts *facts; /* one for each column */
	struct values **values;    /* NULL: the column has too many */
	struct values *labels;     /* with --stratify: the labels, with all their rows */
	uint64_t rows[TEXTS_SPLITS];
	struct table_bad bad[PARSED_BAD_MAX];
	uint64_t bads;
	bool failed; /* no memory */
};

/* Errors: -ENOMEM. Call parsed_done() after an error, too. */
MUST_CHECK int parsed_init(struct parsed *rows, const struct table *table, struct error *err);
void parsed_done(struct parsed *rows);

/* Forgets the last block. Errors: -ENOMEM. */
MUST_CHECK int parsed_begin(struct parsed *rows, const struct block *block, struct error *err);

/* Tells whether the parser goes on: no memory is lacking, and bad rows are skipped or none was found. */
bool parsed_go_on(const struct parsed *rows);

/* `line`: the line of the block in which the row begins, from 0. */
void parsed_begin_row(struct parsed *rows, uint64_t line);
uint64_t parsed_line(const struct parsed *rows);
/* Adds a value. `text` may be NULL where bytes is 0. */
void parsed_field(struct parsed *rows, const char *text, uint64_t bytes);
/* Ends the row; one without any value is an empty line, and ignored. */
void parsed_end_row(struct parsed *rows);
/* Forgets the values of the row. */
void parsed_drop_row(struct parsed *rows);
/* Counts the row as bad. The text continues "FILE: line N". */
void parsed_bad(struct parsed *rows, const char *format, ...) PRINTF(2, 3);

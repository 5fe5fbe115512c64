/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kiln prep` for tables: CSV, TSV and JSON lines become shards, in bounded memory.
 *
 *     pass 1   input.c    opens the inputs: files, objects, standard input, programs; gzip, zstd
 *              blocks.c   cuts the bytes into blocks of whole rows
 *              csv.c      parses a block of CSV or TSV, with libcsv
 *              lines.c    parses a block of JSON lines, with cJSON
 *              parsed.c   checks each row, counts what its columns hold, chooses its split and its place
 *              values.c   the different values of a column
 *              spill.c    deals the rows into parts, in memory and then in a temporary file
 *              read.c     runs all of this on several threads
 *     between  columns.c  decides what each column becomes
 *              follow.c   or, with --append, takes it from the first set
 *     pass 2   kind.c     the records of a shard, from the rows of its parts (struct prep_kind)
 *              describe.c dataset.json, and the lines for kiln.conf
 *
 * The place of a row in the order is a hash of the seed, of the number of its block, and of its number in the
 * block. Blocks are cut from the uncompressed bytes in the same way always, and part N has the rows whose
 * hash begins with N. So neither the memory, nor the threads, nor the compression changes a shard.
 *
 * The thread that calls owns struct table. In pass 1 the workers read its options and columns, and one worker
 * at a time changes the counts (read.c).
 */
#pragma once

#include "cli/prep/texts.h"
#include "cli/table/spill.h"
#include "cli/table/values.h"
#include "core/base/json.h"
#include "core/config/config.h"

#include <stdio.h>

#define TABLE_COLUMNS_MAX      1024u
#define TABLE_BLOCK_BYTES      (4u << 20) /* also the longest row */
#define TABLE_CATEGORIES       10000u     /* default of --categories */
#define TABLE_CLASSES          100u       /* a label of whole numbers with more values is no class */
#define TABLE_NO_COLUMN        UINT32_MAX
#define TABLE_TOGETHER_FEATURE "numbers" /* with --together: the feature with all numbers */

enum table_format { TABLE_CSV, TABLE_TSV, TABLE_LINES };

/* The type of a column. TABLE_AUTO: the values decide. TABLE_EMPTY: no row has a value. */
enum table_type { TABLE_AUTO, TABLE_FLOAT, TABLE_INT, TABLE_CATEGORY, TABLE_BYTES, TABLE_EMPTY, TABLE_TYPES };
extern const char *const table_type_names[TABLE_TYPES];

/* How a missing value is treated: the mean or a number takes its place; TABLE_STOP: the row is bad. */
enum table_missing { TABLE_MEAN, TABLE_FILL, TABLE_STOP };

/* Facts about the values of a column. Missing values count in `missing` alone. */
struct table_facts {
	uint64_t values, missing;
	uint64_t numbers, whole; /* values that are numbers, and whole numbers */
	double min, max;         /* of the numbers */
	double train_sum;        /* of the numbers of the training split ... */
	uint64_t train_numbers;  /* ... and how many they are */
	uint64_t bytes, longest; /* of all values, and of the longest */
	char text[32];           /* the first value that is not a number, cut */
};

struct table_column {
	char *name;
	enum table_type said, type;
	enum table_missing missing;
	double fill;
	bool dropped, hashed;
	struct table_facts facts;
	struct values *values; /* NULL: more than --categories */
	uint32_t *id;          /* the id of each of `values`, see columns.c */
	uint32_t *by_id;       /* the inverse; entry 0 is unused, except of a label */
	uint32_t ids;          /* how many ids by_id has */
	uint32_t feature;      /* index in the schema; TABLE_NO_COLUMN: no feature */
	uint32_t place;        /* index in the row of the feature */
};

/* A row that is left out, or ends the job. */
struct table_bad {
	uint64_t line; /* in its block, from 0 */
	char text[256];
};

struct table {
	/* ---- Options; texts belong to the caller ---- */
	char **input;
	uint32_t inputs, train_inputs; /* the inputs after the first train_inputs are the test split's */
	struct config_store where;
	enum table_format format;
	const char *columns_said, *types_said, *missing_said, *drop_said, *hash_said, *null_said;
	const char *label_name, *split_by_name, *date_name, *test_after;
	uint64_t test_percent, validation_percent, categories, memory_bytes, seed, threads;
	bool skip_bad, together, stratify;

	/* ---- With --append, see follow.h ---- */
	const cJSON *first; /* dataset.json of the first set; NULL: the columns are fitted */
	char *null_texts;   /* owned */

	/* ---- The columns ---- */
	struct table_column column[TABLE_COLUMNS_MAX];
	uint32_t columns;
	uint32_t label, split_by, date; /* TABLE_NO_COLUMN: none */
	double test_after_number;       /* the number in test_after; NAN: it is a text */

	/* ---- What pass 1 found ---- */
	uint64_t rows[TEXTS_SPLITS], bad_rows;
	struct spill *spill;
	uint32_t crc;                  /* of all rows, see read.c */
	uint64_t *start[TEXTS_SPLITS]; /* the number of the first row of each part, in its split */
};

/* Returns the enum table_format that a name says, with .gz or .zst behind it or not; -1: none. */
int table_format_of(const char *name);
/* Tells whether the input is a table: by its name, for which --format may be said, too. */
bool table_is(const char *name, const char *format);
/* Sets table->format from the name of the first input or from --format. Errors: -EINVAL. */
MUST_CHECK int table_choose_format(struct table *table, const char *format, struct error *err);
/* Takes the names of the columns, in this order, and all options that name columns. Errors: -EINVAL with the
 * option and the columns that there are; -EBADMSG a name is empty, too long, or there twice. */
MUST_CHECK int table_name_columns(struct table *table, const char *what, char *const *name, uint32_t names,
				  struct error *err);
/* Returns the index of a column, or TABLE_NO_COLUMN. */
uint32_t table_column_named(const struct table *table, const char *name);
void table_done(struct table *table);

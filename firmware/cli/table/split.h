/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which split a row of a table belongs to. The first of these rules that the options name:
 *
 *     --test INPUT         the rows of INPUT are the test split; of the others, --validation-percent validate
 *     --test-after         rows whose --date is greater; of the others, --validation-percent validate
 *     --split-by COLUMN    by the hash of the value: all rows of a value come into one split
 *     --stratify           by the number of the row among those of its label: each split has all labels in
 *                          equal shares
 *     else                 by the hash of the row's number
 */
#pragma once

#include "cli/table/table.h"

struct split_row {
	uint64_t key, block;
	bool is_test;      /* of --test INPUT */
	const char *group; /* the value of --split-by; NULL: missing */
	uint64_t group_bytes;
	const char *date; /* the value of --date; NULL: missing */
	double number;    /* the number in `date`; NAN: it is none */
	const char *label;
	uint64_t label_bytes;
	uint64_t before; /* rows with this label in the block, before this one */
};

/* Returns the place of a row in the order, by the number of its block and its number in the block. */
uint64_t split_key(uint64_t seed, uint64_t block, uint64_t row);
enum texts_split split_choose(const struct table *table, const struct split_row *row);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in the order of their keys, in bounded memory. spill_add() deals each row by the first bits of its key
 * into a part. What does not fit in memory goes to a temporary file, which has no name and is gone when the
 * process ends. spill_load() reads a part back, with its rows in order.
 *
 * Order: spill_open -> spill_add* -> spill_load*, in any order. One thread adds; any thread loads. Cost: each
 * row is written once and read once.
 */
#pragma once

#include "cli/prep/texts.h"

#define SPILL_PARTS 2048u

/* A row: its fields, each with a NUL. */
struct spill_row {
	uint32_t bytes; /* of the whole row, a multiple of 8 */
	uint32_t split; /* enum texts_split */
	uint64_t key;
	char fields[];
};

struct spill;

/* `memory_bytes`: how many bytes of rows stay in memory. Errors: -ENOMEM; those of a temporary file. */
MUST_CHECK int spill_open(uint64_t memory_bytes, struct spill **ret_spill, struct error *err);
void spill_free(struct spill *spill);

/* Errors: -ENOMEM; those of write(2). */
MUST_CHECK int spill_add(struct spill *spill, const struct spill_row *row, struct error *err);

/* How many rows of a split a part has. */
uint32_t spill_rows(const struct spill *spill, uint32_t part, enum texts_split split);
/* Bytes of the largest part. */
uint64_t spill_largest(const struct spill *spill);

/* The rows of a part: those of the training split first, each split in the order of the keys. */
struct spill_part {
	char *data;
	const struct spill_row **row;
	uint32_t first[TEXTS_SPLITS]; /* index of the first row of each split */
};

/* Owns: the caller calls spill_part_done(). Errors: -ENOMEM; those of read(2). */
MUST_CHECK int spill_load(const struct spill *spill, uint32_t part, struct spill_part *ret_part,
			  struct error *err);
void spill_part_done(struct spill_part *part);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first batches that a run with a configuration trains on, row by row as kiln-fetchd deals them to a
 * single machine (data/order.h): the same records at the same rows, with the same pixels. The plan is made as
 * a run makes it, but goes into no store.
 *
 * Order: first_batches_open -> first_batches_next* -> first_batches_done. One thread.
 */
#pragma once

#include "cli/preview/lane.h"
#include "data/batch.h"
#include "data/order.h"

/* Where the record of a row comes from. */
struct first_origin {
	const char *key; /* NULL: the row is empty */
	uint64_t label;  /* the number of its class, for objects */
	uint32_t number; /* its place in the shard */
};

struct first_batches {
	const struct config *config;
	struct plan *plan;
	struct filter filter;
	struct store *store[CONFIG_SOURCES_MAX];
	struct lane *lane; /* source by source */
	uint32_t lanes;    /* of all sources */
	bool *over;        /* by lane: its first source has ended */
	struct example_schema schema;
	struct batch_decoder *decoder;
	struct order_part part; /* where the rows of a batch lie in `batch` and `origin` */
	struct batch_slot batch;
	struct first_origin *origin; /* of each row of `batch` */
	uint64_t most, passed;       /* passed: rows before the batch, order.skip_rows included */
	uint32_t slot_rows;          /* rows of `batch`: with several lanes all, else `most` */
	uint32_t rows, dealt;        /* rows of the batch; how many of them are dealt */
};

/* Fills *ret_batches, which must be zeroed. `most`: so many rows of each batch are read at most. The caller
 * calls first_batches_done() even after an error. Blocks: on the network. Errors: those of a store and of
 * plan_list(). */
MUST_CHECK int first_batches_open(const struct config *config, uint64_t most,
				  struct first_batches *ret_batches, struct error *err);
/* Reads the first `rows` rows of the next batch, at most `most`, into batches->batch and batches->origin: row
 * j into their row order_slot_row(&batches->part, j), as in a slot of the ring. Returns 1, or 0 where the
 * epoch has no more rows; origin says which rows have a record. Errors: those of a store; of a record that
 * does not fit, unless fetch.bad_record is "skip". The text names shard and record.
 */
MUST_CHECK int first_batches_next(struct first_batches *batches, uint64_t rows, struct error *err);
void first_batches_done(struct first_batches *batches);

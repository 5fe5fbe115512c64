/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads records one after the other and makes batches for a model. Shards are read in the order of their
 * keys, and each shard from its first record to its last. Of a shard of the run's plan exactly the version
 * that the plan pins is read; the filter of the configuration and its rule for bad records apply. Standard
 * input has one JSON object per line; every line is used, and a line that does not match the schema is an
 * error. So are the rows of a table; where they have columns, all those that the model reads must be there.
 */
#pragma once

#include "model/model.h"
#include "trained/lines.h"
#include "trained/records_source.h"
#include "trained/trained.h"

struct records;

/* Opens the shards, or standard input. The caller must free the records before `trained` and `model`. Errors:
 * those of a store; -ENOENT there are no shards; the text names the split. */
MUST_CHECK int records_open(const struct trained *trained, const struct records_source *source,
			    const struct model *model, struct records **ret_records, struct error *err);
void records_closep(struct records **records); /* for CLEANUP() */

/* Reads each record for a second model, too, with the schema of that model's own configuration: pictures of
 * another size, for example. The filter, the rule for bad records and the size of the batches stay those of
 * the first. Call it before the first records_next(); `second` is open, and outlives the records. Not for
 * lines. Errors: -EINVAL one of the two reads objects, and the other reads records of shards. */
MUST_CHECK int records_also(struct records *records, const struct trained *second, struct error *err);
/* Returns the rows of the last records_next() as the second model reads them; valid as long as that batch.
 * Call it once for each batch. */
void records_second(struct records *records, struct model_batch *ret_batch);

/* Reads the next batch, which is valid until the next call. Returns 1, or 0 at the end of the records.
 * Errors: -EBADMSG with shard and record, or with the line number; also where the second model cannot read a
 * record that the first one can. */
MUST_CHECK int records_next(struct records *records, struct model_batch *ret_batch, struct error *err);

/* The origin of a row of the batch. For a record of a shard: the shard's key, and the index of the record in
 * the shard, counted from 0. For a line of standard input, or a row of a table: `key` is NULL, `record` is
 * the line number, and `input` is the name of the table's input, NULL of no table. */
struct records_origin {
	const char *key;
	uint64_t record;
	const char *input;
};
struct records_origin records_origin(const struct records *records, uint32_t row);
/* Puts the origin of a record before the error's sentence. Returns the error's code. */
int records_blame(struct records_origin origin, struct error *err);

/* Returns how many bad records were left out so far. */
uint64_t records_skipped(const struct records *records);
/* Returns how many shards so far were read as they are now, because they have changed since the run. */
uint64_t records_changed(const struct records *records);

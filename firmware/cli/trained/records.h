/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records, one after the other, as batches of a model. Shards are read in the order of their keys, each from
 * its first record to its last; the configuration's filter and its rule for bad records hold. Of standard
 * input, a JSON object a line, every line counts, and a line that does not fit is an error.
 */
#pragma once

#include "cli/trained/lines.h"
#include "cli/trained/records_source.h"
#include "cli/trained/trained.h"
#include "model/model.h"

struct records;

/* Opens the shards, or standard input. `trained` and `model` must outlive the records. Errors: those of a
 * store; -ENOENT no shards, the split is named. */
MUST_CHECK int records_open(const struct trained *trained, const struct records_source *source,
			    const struct model *model, struct records **ret_records, struct error *err);
void records_closep(struct records **records); /* for CLEANUP() */

/* Returns 1 and a batch, which lasts until the next call; 0 at the end. Errors: -EBADMSG names shard and
 * record, or the line. */
MUST_CHECK int records_next(struct records *records, struct model_batch *ret_batch, struct error *err);

/* Where a row of the batch comes from: a shard's key and the index of the record in the shard, from 0. `key`
 * NULL: a line, `record` is its number. */
struct records_origin {
	const char *key;
	uint64_t record;
};
struct records_origin records_origin(const struct records *records, uint32_t row);
/* Puts the origin of a record in front of the error's sentence. Returns the error's code. */
int records_blame(struct records_origin origin, struct error *err);

/* Returns how many bad records were left out. */
uint64_t records_skipped(const struct records *records);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a split, one after the other, as batches of a model: shards in the plan's order, which is
 * that of the keys, records as they lie. What the configuration says of filter and bad records holds.
 */
#pragma once

#include "cli/trained.h"
#include "core/cursor.h"
#include "model/model.h"

/* By split: "train", "validation", "test". */
extern const char *const records_splits[SPLIT_MAX];

struct records;

/* The shards are those of the plan beside the run's model folder; with `data`, a URL, those below it whose
 * keys the configuration's globs name. Errors: those of a store; -ENOENT no shards, the split is named. */
MUST_CHECK int records_open(const struct trained *trained, enum split split, const char *data,
			    const struct model *model, struct records **ret_records, struct error *err);
void records_closep(struct records **records); /* for CLEANUP() */

/* 1 and a batch, whose memory lasts until the next call; 0 there is none left. Errors: -EBADMSG names shard
 * and record. */
MUST_CHECK int records_next(struct records *records, struct model_batch *ret_batch, struct error *err);

/* Bad ones that were left out. */
uint64_t records_skipped(const struct records *records);

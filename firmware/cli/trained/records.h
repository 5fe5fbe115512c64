/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records, one after the other, as batches of a model. Those of a split: shards in the plan's order, which is
 * that of the keys, records as they lie; what the configuration says of filter and bad records holds. Or
 * those of standard input, a JSON object a line: each counts, and one that does not fit is an error.
 */
#pragma once

#include "cli/trained/lines.h"
#include "cli/trained/trained.h"
#include "core/ring/cursor.h"
#include "model/model.h"

/* By split: "train", "validation", "test". */
extern const char *const records_splits[SPLIT_MAX];

/* The shards of a split: those of the plan beside the run's model folder; with `data`, a URL, those below it
 * whose keys the glob of the split of any of the configuration's sources matches, in bytewise order; with
 * `data` "-" standard input, which goes on with `lines` where a verb has begun to read it. */
struct records_source {
	enum split split;
	const char *data;
	struct lines *lines; /* borrowed, or NULL */
	bool labels;         /* each record has a label, and a sample weight if the model takes one */
	bool given;          /* one of the options was */
};

/* Rows of a getopt table, their help, and what takes one: CLI_OK, or what cli_usage() gives. */
enum { RECORDS_SPLIT = 768, RECORDS_DATA };
#define RECORDS_OPTIONS                       \
	{ "split", 1, NULL, RECORDS_SPLIT },  \
	{                                     \
		"data", 1, NULL, RECORDS_DATA \
	}
#define RECORDS_USAGE                                                                                    \
	"  --split NAME           train, validation or test: the shards that the run's plan names; "     \
	"without, test\n"                                                                                \
	"  --data URL             instead: the shards below s3://bucket/prefix or file:///folder whose " \
	"names "                                                                                         \
	"the\n"                                                                                          \
	"                         split's glob of one of the sources in the model's configuration "      \
	"matches;\n"                                                                                     \
	"                         - is standard input, a JSON object a line: values by the features' "   \
	"names\n"
int records_option(const char *verb, struct records_source *source, int code, const char *value);
/* "the test split" and the like, for messages. */
const char *records_source_name(const struct records_source *source);
bool records_are_lines(const struct records_source *source);

struct records;

/* Errors: those of a store; -ENOENT no shards, the split is named. */
MUST_CHECK int records_open(const struct trained *trained, const struct records_source *source,
			    const struct model *model, struct records **ret_records, struct error *err);
void records_closep(struct records **records); /* for CLEANUP() */

/* 1 and a batch, whose memory lasts until the next call; 0 there is none left. Errors: -EBADMSG names shard
 * and record, or the line. */
MUST_CHECK int records_next(struct records *records, struct model_batch *ret_batch, struct error *err);

/* Where a row of that batch comes from: the shard's key, and which of its records, from 0; or, with `key`
 * NULL, the line's number. */
struct records_place {
	const char *key;
	uint64_t record;
};
struct records_place records_place(const struct records *records, uint32_t row);
/* The code of `err`, which then names the place first. */
int records_blame(struct records_place place, struct error *err);

/* Bad ones that were left out. */
uint64_t records_skipped(const struct records *records);

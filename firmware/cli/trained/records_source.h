/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the records that a verb reads: --split, --data, or standard input. */
#pragma once

#include "cli/base/arguments.h"
#include "core/ring/cursor.h"

struct lines;

/*
 * Without `data`, the shards of the split in the plan beside the run's model folder. With `data`, a URL, the
 * shards below the URL whose keys match the glob of the split of any of the configuration's sources, in
 * bytewise order. With `data` "-", standard input: a verb that has read some of it hands `lines` over.
 */
struct records_source {
	enum split split;
	const char *data;
	struct lines *lines; /* borrowed, or NULL */
	bool labels;         /* each record has a label, and a sample weight if the model reads one */
	bool given;          /* --split or --data was given */
};

/* --split and --data. */
extern const struct verb_option records_options[];
/* Sets split, data and given from arguments whose row has records_options. The split is test by default. */
void records_read(struct records_source *source, const struct arguments *arguments);
/* Returns "the test split" and the like, for messages. */
const char *records_source_name(const struct records_source *source);
/* True where the records are lines of standard input. */
bool records_are_lines(const struct records_source *source);

/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a verb's records: --split, --data, --data-as-it-is-now, or standard input. */
#pragma once

#include "cli/base/arguments.h"
#include "core/ring/cursor.h"

struct lines;

/*
 * Three sources are possible. `data` is NULL: the shards of the split, from the plan that lies beside the
 * run's model folder, each in the version that the plan pins. `data` is a URL: all shards below the URL whose
 * keys match the glob of the split in any source of the configuration, in bytewise order. `data` is "-":
 * standard input; a verb that has already read the first line passes its `lines`.
 */
struct records_source {
	enum split split;
	const char *data;
	struct lines *lines; /* borrowed; NULL: the verb has not read from standard input */
	bool labels;         /* each record must have a label, and a sample weight if the model reads one */
	bool given;          /* --split, --data or --data-as-it-is-now was given */
	bool as_it_is_now;   /* read shards of the plan that have changed as they are now, instead of refusing
				them */
};

/* The options --split, --data and --data-as-it-is-now. */
extern const struct verb_option records_options[];
/* Sets split, data, given and as_it_is_now from the arguments of a verb whose row has records_options.
 * Without --split the split is test. */
void records_read(struct records_source *source, const struct arguments *arguments);
/* Returns a name of the source for messages, such as "the test split". */
const char *records_source_name(const struct records_source *source);
/* Returns true where the records are lines of standard input. */
bool records_are_lines(const struct records_source *source);

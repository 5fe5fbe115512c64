/* SPDX-License-Identifier: Apache-2.0 */
/* Where records come from: a split of the run's plan, shards below a URL, or standard input. */
#pragma once

#include "core/ring/cursor.h"

#include <stdbool.h>

struct lines;
struct rows;

/*
 * Three sources are possible. `data` is NULL: the shards of the split, from the plan that lies beside the
 * run's model folder, each in the version that the plan pins. `data` is a URL: all shards below the URL whose
 * keys match the glob of the split in any source of the configuration, in bytewise order. `data` is "-":
 * standard input; a caller that has already read the first line passes its `lines`. With `rows` the caller
 * reads the rows of a table itself, and `data` is not read.
 */
struct records_source {
	enum split split;
	const char *data;
	struct lines *lines; /* borrowed; NULL: the caller has not read from standard input */
	struct rows *rows;   /* borrowed; NULL: none */
	bool labels;         /* each record must have a label, and a sample weight if the model reads one */
	bool given;          /* --split, --data or --data-as-it-is-now was given */
	bool as_it_is_now;   /* read shards of the plan that have changed as they are now, instead of refusing
				them */
};

/* Returns a name of the source for messages, such as "the test split". */
const char *records_source_name(const struct records_source *source);
/* Returns true where the records are lines of standard input, or rows of a table. */
bool records_are_lines(const struct records_source *source);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series and runs for `kiln experiments`: those of a box, or those below the sink of a configuration.
 *
 *     where.c    reads them
 *     table.c    the trials of a series as a table
 *     differs.c  what two runs differ in, as text
 *
 * Order: experiments_open -> (experiments_list | experiments_series | experiments_run)* -> experiments_done.
 * Threads: none. Blocks: a request each. Errors are printed: the functions return CLI_OK, or another exit
 * code after a sentence on standard error.
 */
#pragma once

#include "cli/base/arguments.h"
#include "core/base/json.h"
#include "core/config/config.h"

/* The options --store, --config and --json. The row of every verb that reads series has this list. */
extern const struct verb_option experiments_options[];

struct experiments {
	bool stored; /* read the store */
	struct config config;
};

/* Finds out where to read, from the options. */
MUST_CHECK int experiments_open(const struct arguments *arguments, struct experiments *ret);
void experiments_done(struct experiments *experiments);

/* Returns the summaries of the series, the newest first. The caller deletes them. */
MUST_CHECK int experiments_list(const struct experiments *experiments, cJSON **ret_rows);
/* Returns a series.json. `id`: NULL = the newest one. The caller deletes it. */
MUST_CHECK int experiments_series(const struct experiments *experiments, const char *id, cJSON **ret_series);

/* Returns the run.json of one of the two runs that the user compares. `name`: SERIES/TRIAL; or the name of a
 * trial of the series `id`, NULL = the newest; else the id of a run, which the store has where the box does
 * not. The caller deletes it. */
MUST_CHECK int experiments_run(const struct experiments *experiments, const char *id, const char *name,
			       cJSON **ret_record);

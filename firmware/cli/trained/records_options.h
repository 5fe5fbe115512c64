/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say which records a verb reads. */
#pragma once

#include "cli/base/arguments.h"
#include "trained/records_source.h"
#include "trained/trained.h"

/* The options --split, --data and --data-as-it-is-now. */
extern const struct verb_option records_options[];
/* Sets split, data, given and as_it_is_now from the arguments of a verb whose row has records_options.
 * Without --split the split is test. */
void records_read(struct records_source *source, const struct arguments *arguments);
/* Opens the rows where --data names a table, or standard input: sets source->rows, which the caller closes
 * with table_rows_close(), also after an error. Errors: those of table_rows_open(). */
MUST_CHECK int records_open_rows(struct records_source *source, const struct trained *trained,
				 struct error *err);
/* Does the same with a table that has this name. */
MUST_CHECK int records_open_table(struct records_source *source, const struct trained *trained,
				  const char *name, struct error *err);

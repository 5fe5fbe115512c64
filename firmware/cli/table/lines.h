/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: an object a line, parsed by cJSON. A key is a column; null and a key that is not there are
 * missing values; true and false are texts. Any thread. */
#pragma once

#include "cli/table/parsed.h"

/* Takes the names of the columns: all keys of the first block, in the order in which they come. */
MUST_CHECK int lines_columns(struct table *table, const char *name, const char *data, uint64_t bytes,
			     struct error *err);

/* Parses the rows of a block into `rows`. Errors: -ENOMEM. */
MUST_CHECK int lines_parse_block(struct parsed *rows, const char *data, uint64_t bytes, struct error *err);

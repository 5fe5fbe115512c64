/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln prep --append of a table: the columns become the features that the first set has. dataset.json beside
 * its shards says which, and nothing is fitted again.
 *
 * Order: follow_options -> table_read, which calls follow_columns -> follow_decide.
 */
#pragma once

#include "cli/table/table.h"

/* Sets table->first and, in the place of the options, the label, the texts of missing values and whether the
 * numbers are together. `dataset`: dataset.json of the first set; it must stay. Errors: -EINVAL it is not
 * that of a table, or has another label; -ENOMEM. */
MUST_CHECK int follow_options(struct table *table, const cJSON *dataset, struct error *err);

/* Gives each column its type, by its name. The values of a column that is no category are not listed. Errors:
 * -EINVAL a column of the first set is not there, or one is there that the first set does not have; the text
 * names it. */
MUST_CHECK int follow_columns(struct table *table, struct error *err);

/* Does what columns_decide() does: ids, classes and features are those of the first set. A text that the
 * first set does not have has the id 0. Errors: -EINVAL a label is no class of the first set, or a text has
 * more bytes than its feature holds; -EBADMSG columns and schema of dataset.json do not fit; -ENOMEM. */
MUST_CHECK int follow_decide(struct table *table, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table for a model that was trained on the shards of `kiln prep`. The member "columns" of
 * dataset.json says how prep made features of columns: texts became ids, missing values became `fill`, and
 * with --together all numbers became one list.
 *
 * Order: table_row_open -> (table_row_column | table_row_translate)* -> table_row_freep. One thread. Cost:
 * the id of a text is found by a binary search.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

struct table_row;

/* Reads the columns. `labels`: rows have their label; otherwise it is removed. *ret_row stays NULL where
 * `dataset` is NULL or not that of a table. `dataset` and `config` must stay. Errors: -ENOMEM. */
MUST_CHECK int table_row_open(const cJSON *dataset, const struct config *config, bool labels,
			      struct table_row **ret_row, struct error *err);
void table_row_freep(struct table_row **row); /* for CLEANUP() */

/* Replaces the columns of an object by the features that prep makes of them. Of a category, a text, true,
 * false and a number are values of the table, and become the id of the value (0: the training split did not
 * have it). null, a text that --null named, and a missing column become what prep writes for them. A list
 * is the feature itself, and stays. Of a column of --missing stop, a missing value becomes nothing, or null
 * in a list of numbers: features_add() refuses the row if the model reads the feature. Removes columns that
 * no feature of the configuration is made of. Changes nothing where `row` is NULL. Errors: -EBADMSG a text
 * that is no number, a label that is missing or no class, with the column; -ENOMEM. */
MUST_CHECK int table_row_translate(const struct table_row *row, cJSON *object, struct error *err);

/* Returns the name of column `index`, and sets *ret_feature to its feature, NULL where there is none; returns
 * NULL behind the last column. */
const char *table_row_column(const struct table_row *row, uint32_t index, const char **ret_feature);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each column becomes, from the facts of all its rows:
 *
 *     type       feature       for
 *     float      float32[1]    numbers
 *     int        int64[1]      whole numbers, with --type
 *     category   int64[1]      texts, each twice on average, at most --categories: ids from 1 on in bytewise
 *                              order; 0 = missing, or not in the training split
 *     bytes      bytes         other texts
 *     empty      none          no value in any row
 *
 * The label has the numbers of its classes from 0 on, or is a number. A label of whole numbers is a category
 * where it has at most TABLE_CLASSES of them; its classes are in the order of the numbers.
 */
#pragma once

#include "cli/table/table.h"
#include "data/example.h"

/* Sets type, fill, ids, feature and place of each column. Errors: -EBADMSG no row to train on, a class
 * without a training row, fewer than two classes; -EINVAL an option does not fit the values; -ENOMEM. */
MUST_CHECK int columns_decide(struct table *table, struct error *err);

/* Returns the name of the feature that a column with its type becomes. */
const char *columns_feature(const struct table *table, uint32_t column);

/* The features of a record: the columns in their order; with --together the numbers first, as one. */
void columns_schema(const struct table *table, struct example_schema *ret_schema);

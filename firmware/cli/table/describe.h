/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/table/table.h"
#include "core/base/json.h"

/* Adds the members of dataset.json: "columns", a list in the order of the input, with name, type, feature,
 * missing (how many), fill (what a missing value becomes), min, max and mean of numbers, and values, the
 * texts of a category in the order of their ids from 1; "label"; "split". */
void describe_table(const struct table *table, cJSON *json);

/* Prints what each column became, and the lines of kiln.conf. */
void describe_print(const struct table *table);

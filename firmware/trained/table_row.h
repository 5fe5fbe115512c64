/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a table, as JSON lines have it, for a model that was trained on the shards of `kiln prep`. The
 * member "columns" of dataset.json says how prep made features of columns: texts became ids, missing values
 * became `fill`, and with --together all numbers became one list.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

/* Replaces the columns of an object by the features that prep makes of them: a text of a category by its id
 * (0: the training split did not have it), null and a missing column by what prep writes for it. Removes
 * columns that no feature of the configuration is made of. Numbers stay, so an id may be given as such.
 * Changes nothing where `dataset` is NULL or not that of a table. Errors: -EBADMSG a text that is no number,
 * with the column; -ENOMEM. */
MUST_CHECK int table_row_translate(const cJSON *dataset, const struct config *config, cJSON *object,
				   struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files beside the shards, for people and for `kiln predict`: dataset.json, and encoder.bin,
 * vocabulary.txt or tokenizer.json. */
#pragma once

#include "cli/prep/prep.h"
#include "drivers/store/store.h"

/* Tells whether dataset.json and the summary count the records of a split: sets of before there were
 * validation records stay as they are. */
bool dataset_names_split(const struct prep *prep, enum texts_split split);

/* Returns what dataset.json says about the new set alone. The caller deletes it. */
cJSON *dataset_describe(const struct prep *prep, const struct example_schema *schema);

/* Writes the files of a set into a store and removes those of an earlier set; a set that is added changes
 * dataset.json alone. Errors: those of a store. */
MUST_CHECK int dataset_put(const struct prep *prep, const struct example_schema *schema, struct store *store,
			   struct error *err);

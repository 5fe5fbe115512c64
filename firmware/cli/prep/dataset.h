/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files beside the shards, for people and for `kiln predict`: dataset.json, and encoder.bin or
 * vocabulary.txt. */
#pragma once

#include "cli/prep/prep.h"
#include "drivers/store/store.h"

/* Writes the files of a set into a store and removes those of an earlier set. Errors: those of a store. */
MUST_CHECK int dataset_put(const struct prep *prep, const struct example_schema *schema, struct store *store,
			   struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Names of shards, and what an earlier `kiln prep` left in the store. */
#pragma once

#include "cli/prep/texts.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

#define PREP_KEY_BYTES 64u /* size of a shard's key, NUL included */

extern const char *const prep_split_names[TEXTS_SPLITS];

/* "train-00003-of-00012.tfrecord.gz" */
void prep_shard_key(enum texts_split split, uint64_t number, uint64_t shards,
		    char key[static PREP_KEY_BYTES]);

/* Lists the output before any work, so that a wrong URL, credential or bucket is told at once.
 * Errors: those of a store; -EEXIST the store holds shards that kiln prep has not written, one is named. */
MUST_CHECK int prep_check_output(const struct config_store *where, struct error *err);

/* Removes the shards of an earlier, different set: they would be trained on too. `shards` is the count of
 * each split in the new set. Other objects stay. */
MUST_CHECK int prep_remove_old(struct store *store, const uint32_t shards[static TEXTS_SPLITS],
			       struct error *err);

/* Marks the set as incomplete, before the first of its objects changes; removes what a killed kiln prep left.
 */
MUST_CHECK int prep_begin_set(struct store *store, struct error *err);
/* Marks the set as complete, after the last of its objects was written. */
MUST_CHECK int prep_end_set(struct store *store, struct error *err);

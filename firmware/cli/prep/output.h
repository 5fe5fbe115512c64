/* SPDX-License-Identifier: Apache-2.0 */
/* The names of shards, and checks and removal of the files that an earlier `kiln prep` wrote to the store. */
#pragma once

#include "cli/prep/texts.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

#define PREP_KEY_BYTES 64u /* size of the key of a shard, with the NUL */

extern const char *const prep_split_names[TEXTS_SPLITS];

/* Writes the key of a shard: "train-00003-of-00012.tfrecord.gz". */
void prep_shard_key(enum texts_split split, uint64_t number, uint64_t shards,
		    char key[static PREP_KEY_BYTES]);

/* Lists the output before any work, so that a wrong URL, credential or bucket is reported at once. Errors:
 * those of a store; -EEXIST the store holds shards that kiln prep did not write; the text names one of
 * them. */
MUST_CHECK int prep_check_output(const struct config_store *where, struct error *err);

/* Removes the shards of an earlier, different set, because training would read them, too. `shards`: the count
 * of shards in the new set, for each split. Other objects are not removed. */
MUST_CHECK int prep_remove_old(struct store *store, const uint32_t shards[static TEXTS_SPLITS],
			       struct error *err);

/* Marks the set as incomplete. Call it before the first object of the set changes. Removes temporary files of
 * a killed kiln prep. */
MUST_CHECK int prep_begin_set(struct store *store, struct error *err);
/* Marks the set as complete. Call it after the last object of the set was written. */
MUST_CHECK int prep_end_set(struct store *store, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* The names of shards, and finding and removal of the files that an earlier `kiln prep` wrote to the store.
 */
#pragma once

#include "cli/prep/prep.h"
#include "drivers/store/store.h"

#define PREP_KEY_BYTES 64u /* size of the key of a shard or a manifest, with the NUL */
/* The first words of MANIFEST_INCOMPLETE_NAME while a set is added. */
#define PREP_APPENDING "kiln prep --append "

extern const char *const prep_split_names[TEXTS_SPLITS];

/* Writes the key of a shard: "train-00003-of-00012.tfrecord.gz" or, where `set` is the id of an added set,
 * "train-1a2b3c4d-00003-of-00012.tfrecord.gz". `set`: "" = the first set. `plain`: without ".gz". */
void prep_shard_key(enum texts_split split, const char *set, uint64_t number, uint64_t shards, bool plain,
		    char key[static PREP_KEY_BYTES]);
/* Writes the key of an added set's manifest. */
void prep_manifest_key(const char *set, char key[static PREP_KEY_BYTES]);

/* Checks that the patterns of --config match the names of the new shards; before prep->kind is known, those
 * of any kind. Errors: -EINVAL. */
MUST_CHECK int prep_check_names(const struct prep *prep, struct error *err);

/* Lists the output. ret_own: the key of a shard with a name that kiln prep gives; ret_foreign: of an object
 * that a run could take for a shard, with another name; "" = there is none. Errors: those of a store and of
 * prep_check_names(). */
MUST_CHECK int prep_find_shards(const struct prep *prep, struct store *store,
				char ret_own[static STORE_KEY_MAX + 1],
				char ret_foreign[static STORE_KEY_MAX + 1], struct error *err);

/* Tells whether the key is that of a shard of another set that stays beside this one: with PREP_APPEND, of
 * the first set or of an added one that dataset.json names. */
bool prep_is_of_others(const struct prep *prep, const char *key);

/* Removes the shards and manifests of earlier sets, because training would read them, too. `shards`: the
 * count of shards in the new set, for each split; the new set's shards stay. With PREP_APPEND, the sets of
 * dataset.json stay, too. Other objects are not removed. */
MUST_CHECK int prep_remove_old(const struct prep *prep, struct store *store,
			       const uint32_t shards[static TEXTS_SPLITS], struct error *err);

/* Locks an output that is a folder, which is made if needed, until this kiln prep ends; another store has no
 * lock. Owns: the caller closes *ret_lock. Errors: -EBUSY another kiln prep writes there. */
MUST_CHECK int prep_lock(const char *url, int *ret_lock, struct error *err);

/* Marks the set as incomplete. Call it before the first object of the set changes. Removes temporary files of
 * a killed kiln prep. */
MUST_CHECK int prep_begin_set(const struct prep *prep, struct store *store, struct error *err);
/* Checks that no other kiln prep began to write here since prep_begin_set(): the mark of one has the lines
 * that prep_begin_set() wrote. Call it before old objects go, and before prep_end_set(). Errors: -EBUSY;
 * those of a store. */
MUST_CHECK int prep_still_alone(const struct prep *prep, struct store *store, struct error *err);
/* Marks the set as complete. Call it after the last object of the set was written. */
MUST_CHECK int prep_end_set(const struct prep *prep, struct store *store, struct error *err);

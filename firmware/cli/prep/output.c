/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/output.h"

#include "cli/prep/prep.h"
#include "core/run/manifest.h"

#include <inttypes.h>
#include <string.h>

const char *const prep_split_names[] = { "train", "test" };

/* ---- Shards by name ---- */

void prep_shard_key(enum texts_split split, uint64_t number, uint64_t shards, char key[static PREP_KEY_BYTES])
{
	(void)snprintf(key, PREP_KEY_BYTES, "%s-%05" PRIu64 "-of-%05" PRIu64 ".tfrecord.gz",
		       prep_split_names[split], number, shards);
}

/* Parses the key of a shard. Accepts only the exact form of prep_shard_key(): prints the parsed numbers again
 * and compares. */
static bool parse_shard_key(const char *key, enum texts_split split, uint64_t *ret_number,
			    uint64_t *ret_shards)
{
	char again[PREP_KEY_BYTES];
	uint64_t number, shards;
	size_t name = strlen(prep_split_names[split]);

	if (strncmp(key, prep_split_names[split], name) != 0 ||
	    sscanf(key + name, "-%" SCNu64 "-of-%" SCNu64, &number, &shards) != 2)
		return false;
	prep_shard_key(split, number, shards, again);
	*ret_number = number;
	*ret_shards = shards;
	return strcmp(again, key) == 0;
}

static int list_split(struct store *store, enum texts_split split,
		      int (*each)(void *context, const struct store_object *object), void *context,
		      struct error *err)
{
	char glob[64];

	(void)snprintf(glob, sizeof(glob), "%s-*-of-*.tfrecord.gz", prep_split_names[split]);
	return store_list(store, glob, each, context, err);
}

/* ---- Before any work ---- */

struct search {
	enum texts_split split;
	char key[STORE_KEY_MAX + 1]; /* key of the first shard found */
};

static int note_first(void *context, const struct store_object *object)
{
	struct search *search = context;
	uint64_t number, shards;

	if (!parse_shard_key(object->key, search->split, &number, &shards))
		return 0;
	memcpy(search->key, object->key, sizeof(search->key));
	return 1;
}

/* Returns 1 where the store has one of the files that kiln prep writes beside the shards, 0 where it has
 * none. */
static int is_set(struct store *store, struct error *err)
{
	static const char *const marks[] = { MANIFEST_NAME, MANIFEST_INCOMPLETE_NAME, PREP_DATASET_KEY };
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sizeof(marks) / sizeof(marks[0]); i++) {
		struct store_object object;

		r = store_stat(store, marks[i], &object, err);
	}
	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

int prep_check_output(const struct config_store *where, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_options options = { 0 };
	struct search search = { 0 };
	int r = store_open(where, &options, &store, err);

	for (int s = 0; r == 0 && s < TEXTS_SPLITS; s++) {
		search.split = (enum texts_split)s;
		r = list_split(store, search.split, note_first, &search, err);
	}
	if (r <= 0 || (r = is_set(store, err)) < 0)
		return r;
	return r > 0 ? 0
		     : error_set(err, -EEXIST,
				 "%s: found %s, but no " PREP_DATASET_KEY " or " MANIFEST_NAME
				 ": kiln prep did not write this set and does not replace it; move it away "
				 "or choose another folder",
				 where->url, search.key);
}

/* ---- An earlier set's ---- */

struct cleaning {
	enum texts_split split;
	uint64_t shards; /* count of shards in the new set */
	char (*old)[STORE_KEY_MAX + 1];
	uint32_t olds, capacity;
};

static int note_old(void *context, const struct store_object *object)
{
	struct cleaning *cleaning = context;
	uint64_t number, shards;

	if (!parse_shard_key(object->key, cleaning->split, &number, &shards) ||
	    (shards == cleaning->shards && number < shards))
		return 0;
	if (cleaning->olds == cleaning->capacity) {
		uint32_t capacity = cleaning->capacity ? cleaning->capacity * 2 : 64;
		void *old = realloc(cleaning->old, capacity * sizeof(*cleaning->old));

		if (!old)
			return -ENOMEM;
		cleaning->old = old;
		cleaning->capacity = capacity;
	}
	memcpy(cleaning->old[cleaning->olds++], object->key, sizeof(object->key));
	return 0;
}

int prep_remove_old(struct store *store, const uint32_t shards[static TEXTS_SPLITS], struct error *err)
{
	struct cleaning cleaning = { 0 };
	int r = 0;

	for (int s = 0; r == 0 && s < TEXTS_SPLITS; s++) {
		cleaning.split = (enum texts_split)s;
		cleaning.shards = shards[s];
		r = list_split(store, cleaning.split, note_old, &cleaning, err);
	}
	for (uint32_t i = 0; r == 0 && i < cleaning.olds; i++)
		r = store_delete(store, cleaning.old[i], err);
	if (r == 0 && cleaning.olds)
		fprintf(stderr, "removed %u shards of an earlier set\n", cleaning.olds);
	free(cleaning.old);
	return r;
}

/* ---- While it is written ---- */

/* Removes temporary files of killed writers; only a store in a folder has such files. In S3 a shard is
 * uploaded by one request, so a killed kiln prep leaves nothing, and unfinished uploads belong to other
 * programs. */
static int clear_temporaries(struct store *store, struct error *err)
{
	return strncmp(store_url(store), "file://", strlen("file://")) == 0 ? store_abort_stale(store, err)
									    : 0;
}

int prep_begin_set(struct store *store, struct error *err)
{
	static const char text[] = "kiln prep writes here, or was stopped while it did: run it again\n";
	int r = clear_temporaries(store, err);

	if (r < 0 || (r = store_put(store, MANIFEST_INCOMPLETE_NAME, text, strlen(text), err)) < 0)
		return r;
	return store_delete(store, MANIFEST_NAME, err);
}

int prep_end_set(struct store *store, struct error *err)
{
	return store_delete(store, MANIFEST_INCOMPLETE_NAME, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/output.h"

#include "core/base/paths.h"
#include "core/run/dataset.h"
#include "core/run/manifest.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define MARK_BYTES 512u
#define MARK_MAX   4096u

const char *const prep_split_names[] = { "train", "test", "validation" };

/* ---- Names ---- */

void prep_shard_key(enum texts_split split, const char *set, uint64_t number, uint64_t shards, bool plain,
		    char key[static PREP_KEY_BYTES])
{
	(void)snprintf(key, PREP_KEY_BYTES, "%s-%s%s%05" PRIu64 "-of-%05" PRIu64 ".tfrecord%s",
		       prep_split_names[split], set, *set ? "-" : "", number, shards, plain ? "" : ".gz");
}

void prep_manifest_key(const char *set, char key[static PREP_KEY_BYTES])
{
	(void)snprintf(key, PREP_KEY_BYTES, "manifest-%s.jsonl", set);
}

/* The parts of a shard's key. */
struct shard_name {
	enum texts_split split;
	char set[PREP_SET_BYTES];
	uint64_t number, shards;
	bool plain;
};

static bool parse_split(const char *key, enum texts_split split, struct shard_name *ret_name)
{
	const size_t length = strlen(prep_split_names[split]);
	const char *rest = key + length;
	char again[PREP_KEY_BYTES];

	*ret_name = (struct shard_name){ .split = split, .plain = !strstr(key, ".gz") };
	if (strncmp(key, prep_split_names[split], length) != 0 ||
	    (sscanf(rest, "-%" SCNu64 "-of-%" SCNu64, &ret_name->number, &ret_name->shards) != 2 &&
	     sscanf(rest, "-%8[0-9a-f]-%" SCNu64 "-of-%" SCNu64, ret_name->set, &ret_name->number,
		    &ret_name->shards) != 3))
		return false;
	prep_shard_key(split, ret_name->set, ret_name->number, ret_name->shards, ret_name->plain, again);
	return strcmp(again, key) == 0;
}

/* Parses the key of a shard. Accepts only the exact form of prep_shard_key(): prints the parsed parts again
 * and compares. */
static bool parse_shard_key(const char *key, struct shard_name *ret_name)
{
	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (parse_split(key, (enum texts_split)s, ret_name))
			return true;
	return false;
}

/* Parses the key of an added set's manifest. */
static bool parse_manifest_key(const char *key, char ret_set[static PREP_SET_BYTES])
{
	char again[PREP_KEY_BYTES];

	if (sscanf(key, "manifest-%8[0-9a-f].jsonl", ret_set) != 1)
		return false;
	prep_manifest_key(ret_set, again);
	return strcmp(again, key) == 0;
}

/* ---- What is there ---- */

struct search {
	const struct config_source *configured;
	char *own, *foreign;
};

/* Tells whether kiln prep itself writes an object of this name, beside the shards. */
static bool is_own_file(const char *key)
{
	static const char *const names[] = { DATASET_NAME,       PREP_ENCODER_KEY, PREP_VOCABULARY_KEY,
					     PREP_TOKENIZER_KEY, MANIFEST_NAME,    MANIFEST_INCOMPLETE_NAME };
	char set[PREP_SET_BYTES];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], key) == 0)
			return true;
	return parse_manifest_key(key, set);
}

/* Tells whether a run could read the object: the patterns that a configuration has by default, the usual
 * suffix, and the patterns of --config. */
static bool is_like_shard(const char *key, const struct config_source *configured)
{
	const char *const globs[] = { "train-*",
				      "test-*",
				      "validation-*",
				      "*.tfrecord*",
				      configured ? configured->train_glob : "",
				      configured ? configured->validation_glob : "",
				      configured ? configured->test_glob : "" };

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (fnmatch(globs[i], key, 0) == 0)
			return !is_own_file(key);
	return false;
}

static int note(void *context, const struct store_object *object)
{
	struct search *search = context;
	struct shard_name name;
	char *out = parse_shard_key(object->key, &name)              ? search->own
		    : is_like_shard(object->key, search->configured) ? search->foreign
								     : NULL;

	if (out && !*out)
		memcpy(out, object->key, sizeof(object->key));
	return *search->foreign != '\0';
}

/* Tells whether a pattern matches a shard of the split; before the kind is known, one of any kind. */
static bool matches(const struct prep *prep, const char *glob, enum texts_split split)
{
	for (int plain = 0; plain <= 1; plain++) {
		char key[PREP_KEY_BYTES];

		prep_shard_key(split, "", 0, 1, plain, key);
		if ((!prep->kind || prep->kind->plain == plain) && fnmatch(glob, key, 0) == 0)
			return true;
	}
	return false;
}

static int refuse_glob(const struct prep *prep, const char *config_key, const char *glob,
		       enum texts_split split, struct error *err)
{
	char key[PREP_KEY_BYTES];

	prep_shard_key(split, "", 0, 1, prep->kind && prep->kind->plain, key);
	return error_set(err, -EINVAL,
			 "%s: %s: found \"%s\", which does not match the names of the shards that kiln prep "
			 "writes, such as %s",
			 prep->config_file, config_key, glob, key);
}

int prep_check_names(const struct prep *prep, struct error *err)
{
	const struct config_source *configured = prep->configured;

	if (!configured)
		return 0;
	if (!matches(prep, configured->train_glob, TEXTS_TRAIN))
		return refuse_glob(prep, "split.train_glob", configured->train_glob, TEXTS_TRAIN, err);
	if (*configured->test_glob && !matches(prep, configured->test_glob, TEXTS_TEST))
		return refuse_glob(prep, "split.test_glob", configured->test_glob, TEXTS_TEST, err);
	return 0;
}

int prep_find_shards(const struct prep *prep, struct store *store, char ret_own[static STORE_KEY_MAX + 1],
		     char ret_foreign[static STORE_KEY_MAX + 1], struct error *err)
{
	struct search search = { prep->configured, ret_own, ret_foreign };
	int r;

	*ret_own = *ret_foreign = '\0';
	if ((r = prep_check_names(prep, err)) < 0)
		return r;
	r = store_list(store, NULL, note, &search, err);
	return r < 0 ? r : 0;
}

/* ---- Earlier sets ---- */

struct cleaning {
	const struct prep *prep;
	const uint32_t *shards; /* count of shards in the new set */
	char (*old)[STORE_KEY_MAX + 1];
	uint32_t olds, capacity;
};

/* Tells whether a set stays: with PREP_APPEND the first one, and the added ones of dataset.json. */
static bool stays(const struct prep *prep, const char *set)
{
	return prep->mode == PREP_APPEND &&
	       (!*set || cJSON_HasObjectItem(json_member(prep->there.dataset, "sets"), set));
}

bool prep_is_of_others(const struct prep *prep, const char *key)
{
	struct shard_name name;

	return parse_shard_key(key, &name) && strcmp(name.set, prep->id) != 0 && stays(prep, name.set);
}

static bool is_old(const struct cleaning *cleaning, const char *key)
{
	const char *mine = cleaning->prep->mode == PREP_APPEND ? cleaning->prep->id : "";
	char set[PREP_SET_BYTES];
	struct shard_name name;

	if (parse_manifest_key(key, set))
		return strcmp(set, mine) != 0 && !stays(cleaning->prep, set);
	if (!parse_shard_key(key, &name))
		return false;
	if (strcmp(name.set, mine) == 0)
		return name.shards != cleaning->shards[name.split] || name.number >= name.shards ||
		       name.plain != cleaning->prep->kind->plain;
	return !stays(cleaning->prep, name.set);
}

static int note_old(void *context, const struct store_object *object)
{
	struct cleaning *cleaning = context;

	if (!is_old(cleaning, object->key))
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

int prep_remove_old(const struct prep *prep, struct store *store, const uint32_t shards[static TEXTS_SPLITS],
		    struct error *err)
{
	struct cleaning cleaning = { .prep = prep, .shards = shards };
	int r = store_list(store, NULL, note_old, &cleaning, err);

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

/* Writes the text of the mark. The second line tells this kiln prep from another one. */
static const char *mark_of(const struct prep *prep, char out[static MARK_BYTES])
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(out, MARK_BYTES,
		       "%swrites here, or was stopped while it did: run it again\nset %s, process %d on %s\n",
		       prep->mode == PREP_APPEND ? PREP_APPENDING : "kiln prep ", prep->id, (int)getpid(),
		       host);
	return out;
}

int prep_lock(const char *url, int *ret_lock, struct error *err)
{
	const char *folder = url + strlen("file://");
	int r;

	if (strncmp(url, "file://", strlen("file://")) != 0)
		return 0;
	if ((r = path_make(folder, err)) < 0)
		return r;
	return folder_lock(folder, "another kiln prep writes here: run this one when it has ended", ret_lock,
			   err);
}

/* While a set is added, manifest.jsonl stays as it is: it has the shards of the other sets. */
int prep_begin_set(const struct prep *prep, struct store *store, struct error *err)
{
	const bool append = prep->mode == PREP_APPEND;
	char mark[MARK_BYTES];
	const char *text = mark_of(prep, mark);
	int r = clear_temporaries(store, err);

	if (r < 0 ||
	    (r = store_put_checked(store, MANIFEST_INCOMPLETE_NAME, text, strlen(text), NULL, err)) < 0)
		return r;
	return append ? 0 : store_delete(store, MANIFEST_NAME, err);
}

int prep_still_alone(const struct prep *prep, struct store *store, struct error *err)
{
	CLEANUP(free_ptr) char *found = NULL;
	char mark[MARK_BYTES];
	uint64_t bytes;
	int r = store_get_all(store, MANIFEST_INCOMPLETE_NAME, MARK_MAX, &found, &bytes, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && strcmp(found, mark_of(prep, mark)) == 0)
		return 0;
	return error_set(err, -EBUSY,
			 "%s: another kiln prep began to write here at the same time: run this kiln prep "
			 "again when the other one has ended",
			 store_url(store));
}

int prep_end_set(const struct prep *prep, struct store *store, struct error *err)
{
	int r = prep_still_alone(prep, store, err);

	return r < 0 ? r : store_delete(store, MANIFEST_INCOMPLETE_NAME, err);
}

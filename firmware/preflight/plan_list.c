/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/plan_list.h"

#include "core/base/log.h"
#include "data/hold_out.h"
#include "data/plan_classes.h"
#include "data/plan_config.h"
#include "drivers/notify/notify.h"

#include <inttypes.h>
#include <string.h>

#define LISTING_S         300u     /* systemd waits so long for the next object that matches */
#define TEST_GLOB_DEFAULT "test-*" /* the default of split.test_glob */

/* The hashes of a source's training shards, in key order, and the bound (hold_out.h). */
struct hashes {
	uint64_t *hash, shards, capacity, bound;
};

struct listing {
	struct plan_writer *writer;
	uint32_t source;
	enum split split;
	bool objects;
	struct hashes *hashes; /* NULL: the keys are not hashed */
	struct error *err;
};

static int add_hash(struct hashes *hashes, const char *key)
{
	if (hashes->shards == hashes->capacity) {
		const uint64_t capacity = hashes->capacity ? 2 * hashes->capacity : 1024;
		uint64_t *grown = realloc(hashes->hash, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		hashes->hash = grown;
		hashes->capacity = capacity;
	}
	hashes->hash[hashes->shards++] = hold_out_hash(key);
	return 0;
}

static void hashes_done(struct hashes *hashes)
{
	free(hashes->hash);
}

static int add_shard(void *context, const struct store_object *object)
{
	struct listing *listing = context;
	struct plan_shard shard = { .key = object->key,
				    .etag = object->pin.etag,
				    .version = object->pin.version,
				    .bytes = object->pin.bytes,
				    .source = listing->source };

	notify_extend(LISTING_S);
	if (listing->objects && plan_is_folder(object->key))
		return 0;
	if (listing->hashes && add_hash(listing->hashes, object->key) < 0)
		return error_set(listing->err, -ENOMEM, "no memory for the hashes of the shards");
	return plan_add(listing->writer, listing->split, &shard, listing->err);
}

struct plan_glob plan_glob_of(const struct config *config, uint32_t source, enum split split)
{
	const struct config_source *from = &config->source[source];

	if (split == SPLIT_TEST)
		return (struct plan_glob){ "split.test_glob", from->test_glob };
	if (split == SPLIT_VALIDATION && config->split.by == SPLIT_BY_PREFIX)
		return (struct plan_glob){ "split.validation_glob", from->validation_glob };
	return (struct plan_glob){ "split.train_glob", from->train_glob };
}

/* Whether a split may have no shards. A glob that the configuration sets must match an object; the default of
 * test_glob need not. */
static bool may_be_empty(enum split split, const char *glob)
{
	return split != SPLIT_TRAIN &&
	       (!*glob || (split == SPLIT_TEST && strcmp(glob, TEST_GLOB_DEFAULT) == 0));
}

static int list_split(const struct config *config, struct store *store, struct plan_writer *writer,
		      uint32_t source, enum split split, struct hashes *hashes, struct error *err)
{
	struct plan_glob glob = plan_glob_of(config, source, split);
	struct listing listing = { writer, source, split, config_reads_objects(config), hashes, err };
	int r;

	notify_extend(LISTING_S);
	r = *glob.text ? store_list_versions(store, glob.text, add_shard, &listing, err) : 0;

	if (r < 0 || plan_added(writer, source, split) > 0 || may_be_empty(split, glob.text))
		return r;
	return error_set(err, -ENOENT, "%s: no object matches %s \"%s\"", store_url(store), glob.key,
			 glob.text);
}

static bool is_held_out(const void *context, uint64_t index)
{
	const struct hashes *hashes = context;

	return hashes->hash[index] < hashes->bound;
}

/* Makes the source's validation split. Call it when all training shards of the source are listed. */
static int hold_out(const struct config *config, struct store *store, struct plan_writer *writer,
		    uint32_t source, struct hashes *hashes, struct error *err)
{
	const uint64_t percent = config->split.validation_percent;

	switch (config->split.by) {
	case SPLIT_BY_PREFIX:
		return list_split(config, store, writer, source, SPLIT_VALIDATION, NULL, err);
	case SPLIT_BY_HASH:
		hashes->bound = hold_out_bound(hashes->hash, hashes->shards, percent);
		return plan_hold_out_each(writer, is_held_out, hashes, err);
	default:
		plan_hold_out(writer, hold_out_last(plan_added(writer, source, SPLIT_TRAIN), percent));
		return 0;
	}
}

static int list_source(const struct config *config, struct store *store, struct plan_writer *writer,
		       uint32_t source, struct error *err)
{
	CLEANUP(hashes_done) struct hashes hashes = { 0 };
	const bool hashed = config->split.by == SPLIT_BY_HASH;
	int r = list_split(config, store, writer, source, SPLIT_TRAIN, hashed ? &hashes : NULL, err);

	if (r < 0 || (r = hold_out(config, store, writer, source, &hashes, err)) < 0)
		return r;
	return list_split(config, store, writer, source, SPLIT_TEST, NULL, err);
}

static int list_sources(const struct config *config, const struct store_options *options,
			struct plan_writer *writer, struct error *err)
{
	const struct store_options defaults = store_options_of(config);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < config->sources; i++) {
		CLEANUP(store_closep) struct store *store = NULL;

		r = store_open(&config->source[i].store, options ? options : &defaults, &store, err);
		if (r == 0)
			r = list_source(config, store, writer, i, err);
		if (r == 0 && store_versions_refused(store))
			log_notice("%s: the plan has ETags in place of versions, as the store refuses: %s",
				   store_url(store), store_versions_refused(store));
	}
	return r;
}

int plan_list(const struct config *config, const struct store_options *options, const char *path,
	      struct error *err)
{
	struct plan_settings settings = plan_settings_for(config);
	struct plan_writer *writer = NULL;
	int r = plan_create(path, &settings, &writer, err);

	if (r < 0)
		return r;
	r = list_sources(config, options, writer, err);
	if (r < 0) {
		plan_abandon(writer);
		return r;
	}
	return plan_finish(writer, err);
}

/* Refuses an object in two splits: a figure on records that were trained on says nothing. Both lists are in
 * bytewise key order. */
static int check_apart(const struct config *config, const struct plan *plan, uint32_t source, enum split one,
		       enum split other, struct error *err)
{
	const struct plan_glob a = plan_glob_of(config, source, one), b = plan_glob_of(config, source, other);
	uint64_t i = 0, j = 0;

	while (i < plan_source_shards(plan, source, one) && j < plan_source_shards(plan, source, other)) {
		const char *key = plan_shard(plan, source, one, i).key;
		int order = strcmp(key, plan_shard(plan, source, other, j).key);

		if (order == 0)
			return error_set(
				err, -EINVAL,
				"object \"%s\" is matched by %s \"%s\" and %s \"%s\", but belongs in "
				"one split only",
				key, a.key, a.text, b.key, b.text);
		if (order < 0)
			i++;
		else
			j++;
	}
	return 0;
}

static int check_source(const struct config *config, const struct plan *plan, uint32_t source,
			struct error *err)
{
	uint64_t shards = plan_source_shards(plan, source, SPLIT_TRAIN);

	if (shards < config->order.lanes)
		return error_set(err, -EINVAL,
				 "order.lanes: found %" PRIu64 ", %s has %" PRIu64
				 " train shards: each lane needs at least one",
				 config->order.lanes, config->source[source].store.url, shards);
	for (int one = 0; one < SPLIT_MAX; one++)
		for (int other = one + 1; other < SPLIT_MAX; other++) {
			int r = check_apart(config, plan, source, (enum split)one, (enum split)other, err);

			if (r < 0)
				return r;
		}
	return 0;
}

int plan_list_check(const struct config *config, const struct plan *plan, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < config->sources; i++)
		r = check_source(config, plan, i, err);
	return r;
}

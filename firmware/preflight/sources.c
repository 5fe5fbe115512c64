/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/cursor.h"
#include "core/run/manifest.h"
#include "data/hold_out.h"
#include "drivers/cache/cache.h"
#include "drivers/versions/versions.h"
#include "preflight/dataset.h"
#include "preflight/first.h"
#include "preflight/objects.h"
#include "preflight/preflight.h"
#include "preflight/stores.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#define PART              "source"
#define TEST_GLOB_DEFAULT "test-*" /* the default of split.test_glob, which may match nothing */

static const char *const keys[SPLIT_MAX] = { "train_glob", "validation_glob", "test_glob" };

/* The shards of one split. */
struct listing {
	const char *glob[SPLIT_MAX];
	enum split split;
	struct objects *objects; /* NULL: the source has shards */
	uint64_t shards, bytes, most;
	uint64_t hash[PREFLIGHT_LISTED_MAX]; /* of each shard's key (hold_out.h) */
	struct store_object first;           /* the first one that is not empty, or else the first one */
	enum split other;              /* a later split that has one of the shards, too; SPLIT_MAX = none */
	char twice[STORE_KEY_MAX + 1]; /* this shard */
};

/* Notes a shard that belongs to a later split, too. */
static void note_twice(struct listing *listing, const char *key)
{
	for (int other = (int)listing->split + 1; other < SPLIT_MAX; other++)
		if (listing->other == SPLIT_MAX && *listing->glob[other] &&
		    fnmatch(listing->glob[other], key, 0) == 0) {
			listing->other = (enum split)other;
			(void)snprintf(listing->twice, sizeof(listing->twice), "%s", key);
		}
}

static int count(void *context, const struct store_object *object)
{
	struct listing *listing = context;

	if (listing->objects && plan_is_folder(object->key))
		return 0;
	if (listing->objects)
		objects_note(listing->objects, listing->split, object->key);
	if (listing->shards == 0 || (listing->first.pin.bytes == 0 && object->pin.bytes > 0))
		listing->first = *object;
	note_twice(listing, object->key);
	listing->hash[listing->shards++] = hold_out_hash(object->key);
	if (__builtin_add_overflow(listing->bytes, object->pin.bytes, &listing->bytes))
		listing->bytes = UINT64_MAX;
	return listing->shards == listing->most;
}

static const char *glob_of(const struct config *config, uint32_t source, enum split split)
{
	const struct config_source *from = &config->source[source];

	switch (split) {
	case SPLIT_TRAIN:
		return from->train_glob;
	case SPLIT_VALIDATION:
		return config->split.by == SPLIT_BY_PREFIX ? from->validation_glob : "";
	default:
		return from->test_glob;
	}
}

static void say_none(struct preflight *preflight, const char *url, enum split split, const char *glob)
{
	if (split != SPLIT_TEST || strcmp(glob, TEST_GLOB_DEFAULT) != 0)
		preflight_add_misfit(preflight, true, PART,
				     "write the data there, or correct the url or the pattern",
				     "%s: no object matches split.%s \"%s\"", url, keys[split], glob);
}

/* Which of the training shards of a listing are held out for validation: those below `bound`, or those from
 * number `last` on. */
struct held {
	uint64_t shards, bound, last;
};

static struct held held_out(const struct config *config, const struct listing *listing)
{
	const uint64_t percent = config->split.validation_percent;
	struct held held = { .last = listing->shards };

	if (config->split.by == SPLIT_BY_SHARD) {
		held.shards = hold_out_last(listing->shards, percent);
		held.last = listing->shards - held.shards;
	} else if (config->split.by == SPLIT_BY_HASH) {
		held.bound = hold_out_bound(listing->hash, listing->shards, percent);
		for (uint64_t i = 0; i < listing->shards; i++)
			held.shards += listing->hash[i] < held.bound;
	}
	return held;
}

/* Adds what only the training split can lack: a shard for each lane, and one to validate with. */
static void check_train(struct preflight *preflight, const char *url, const struct listing *listing)
{
	const struct config *config = preflight->config;
	const uint64_t held = held_out(config, listing).shards, train = listing->shards - held;

	/* Where the listing was cut off, the number of shards that validate is not known. */
	if (preflight->brief && listing->shards == listing->most)
		return;
	if (train < config->order.lanes)
		preflight_add_misfit(preflight, true, PART, "lower order.lanes, or make more shards",
				     "%s: found %" PRIu64 " training shards beside %" PRIu64
				     " that validate, order.lanes is %" PRIu64,
				     url, train, held, config->order.lanes);
	if (!preflight->brief && config->split.by != SPLIT_BY_PREFIX &&
	    config->split.validation_percent > 0 && held == 0)
		preflight_add(preflight, "validation", PREFLIGHT_WARNING,
			      "make more shards (kiln prep --records-per-shard), or set "
			      "split.validation_percent = 0",
			      "%s: found 1 training shard, so none is held out: there is no validation", url);
}

static void say_twice(struct preflight *preflight, const char *url, const struct listing *listing)
{
	preflight_add_misfit(
		preflight, true, PART, "make patterns that have no key in common",
		"%s: object \"%s\" is matched by split.%s \"%s\" and split.%s \"%s\", but belongs in "
		"one split only",
		url, listing->twice, keys[listing->split], listing->glob[listing->split],
		keys[listing->other], listing->glob[listing->other]);
}

/* Counts what the disk cache can keep of a source. */
static void count_cached(struct preflight *preflight, uint32_t source, const struct listing *listing)
{
	if (cache_accepts_store(&preflight->config->source[source].store) &&
	    __builtin_add_overflow(preflight->cached_bytes, listing->bytes, &preflight->cached_bytes))
		preflight->cached_bytes = UINT64_MAX;
}

static void say_shards(struct preflight *preflight, const char *url, const struct listing *listing)
{
	if (!preflight->brief)
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "%s: %s: %" PRIu64 "%s %s, %" PRIu64 " bytes", url, split_name(listing->split),
			      listing->shards, listing->shards == listing->most ? " or more" : "",
			      listing->objects ? "objects" : "shards", listing->bytes);
	if (listing->objects && listing->split == SPLIT_TRAIN)
		listing->objects->cut = listing->shards == listing->most;
	if (listing->other < SPLIT_MAX)
		say_twice(preflight, url, listing);
	if (listing->split == SPLIT_TRAIN)
		check_train(preflight, url, listing);
}

/* How many objects of a split are listed: at the begin of a run enough to count the lanes. */
static uint64_t most_of(const struct preflight *preflight)
{
	const uint64_t enough = 2 * preflight->config->order.lanes;

	return preflight->brief && enough < PREFLIGHT_LISTED_MAX ? enough : PREFLIGHT_LISTED_MAX;
}

/* Lists a split. Returns false where the store fails. A bucket or folder that is not there has no shards. */
static bool list(struct preflight *preflight, struct store *store, const char *glob, struct listing *listing)
{
	struct error err = { 0 };
	int r = store_list(store, glob, count, listing, &err);

	if (r >= 0)
		return true;
	if (r == -ENOENT)
		preflight_add_misfit(preflight, true, PART,
				     "compare the url with the names of the bucket and the folder", "%s",
				     err.text);
	else
		preflight_add_error(preflight, PART, &err);
	return false;
}

/* The search for the first shard on one side of the training shards: the first one that is not empty, or else
 * the first one. */
struct side {
	struct held held;
	bool validates; /* the side: shards that validate, or shards that train */
	bool objects;   /* the source has objects, and keys of folders are none */
	uint64_t number;
	struct store_object first;
};

static int find_first(void *context, const struct store_object *object)
{
	struct side *side = context;
	bool validates;

	if (side->objects && plan_is_folder(object->key))
		return 0;
	validates = side->number++ >= side->held.last || hold_out_hash(object->key) < side->held.bound;
	if (validates != side->validates || (*side->first.key && object->pin.bytes == 0))
		return 0;
	side->first = *object;
	return object->pin.bytes > 0;
}

/* Looks into the first shard that trains, and into the first one that validates. Where the listing was cut
 * off, which shards validate is not known: looks into the first one. */
static bool check_sides(struct preflight *preflight, struct store *store, const struct listing *listing)
{
	const struct held held = held_out(preflight->config, listing);
	bool fit = false;

	if (held.shards == 0 || listing->shards == listing->most)
		return preflight_first(preflight, store, listing->split, &listing->first);
	for (int validates = 0; validates <= 1; validates++) {
		struct side side = { .held = held,
				     .validates = validates,
				     .objects = listing->objects != NULL };
		struct error err = { 0 };

		if (store_list(store, listing->glob[SPLIT_TRAIN], find_first, &side, &err) < 0)
			preflight_add_error(preflight, PART, &err);
		else if (*side.first.key)
			fit = preflight_first(preflight, store, validates ? SPLIT_VALIDATION : SPLIT_TRAIN,
					      &side.first) ||
			      fit;
	}
	return fit;
}

/* Lists a split and looks into its first shard. Returns false where the store fails. *fit becomes true where
 * records fit. */
static bool check_split(struct preflight *preflight, struct store *store, struct listing *listing, bool *fit)
{
	const char *glob = listing->glob[listing->split], *url = store_url(store);

	if (!*glob)
		return true;
	if (!list(preflight, store, glob, listing))
		return false;
	if (listing->shards == 0) {
		say_none(preflight, url, listing->split, glob);
		return true;
	}
	say_shards(preflight, url, listing);
	*fit = (listing->split == SPLIT_TRAIN
			? check_sides(preflight, store, listing)
			: preflight_first(preflight, store, listing->split, &listing->first)) ||
	       *fit;
	return true;
}

/* Checks the splits of a source one after the other, with the memory of one list. Returns false where the
 * store fails. */
static bool check_splits(struct preflight *preflight, struct store *store, uint32_t source,
			 bool *ret_validates, bool *ret_fit)
{
	const struct config *config = preflight->config;
	CLEANUP(free_ptr) struct listing *listing = malloc(sizeof(*listing));
	CLEANUP(objects_done) struct objects objects = { 0 };

	for (int split = 0; listing && split < SPLIT_MAX; split++) {
		*listing = (struct listing){ .split = (enum split)split,
					     .other = SPLIT_MAX,
					     .objects = config_reads_objects(config) ? &objects : NULL,
					     .most = most_of(preflight) };
		for (int other = 0; other < SPLIT_MAX; other++)
			listing->glob[other] = glob_of(config, source, (enum split)other);
		if (!check_split(preflight, store, listing, ret_fit))
			return false;
		count_cached(preflight, source, listing);
		*ret_validates = *ret_validates ||
				 (split == SPLIT_TRAIN && held_out(config, listing).shards > 0) ||
				 (split == SPLIT_VALIDATION && listing->shards > 0);
	}
	objects_say(preflight, store_url(store), &objects);
	return listing;
}

static void check_whole(struct preflight *preflight, struct store *store)
{
	struct store_object object;
	struct error err = { 0 };

	if (store_stat(store, MANIFEST_INCOMPLETE_NAME, &object, &err) == 0)
		preflight_add(preflight, PART, PREFLIGHT_FAILED, "run that kiln prep again",
			      "%s/" MANIFEST_INCOMPLETE_NAME ": kiln prep did not finish here",
			      store_url(store));
}

/* Checks that the ref of a lakefs:// source is there: lakeFS lists nothing for one that is not. Returns
 * whether the source can be read. */
static bool check_commit(struct preflight *preflight, const struct config_store *source)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	struct store_options options = preflight_store_options(preflight);
	struct config_lakefs parts;
	char id[VERSIONS_ID_BYTES];
	struct error err = { 0 };

	if (!config_lakefs(source->url, &parts) || source->at[0])
		return true;
	if (versions_open(source, &options, &versions, &err) < 0 ||
	    versions_resolve(versions, NULL, id, &err) < 0) {
		preflight_add_error(preflight, PART, &err);
		return false;
	}
	preflight_add(preflight, PART, PREFLIGHT_OK, "", "%s: commit %s", source->url, id);
	return true;
}

/* Returns whether a shard of the source validates, also where that could not be seen. */
static bool check_source(struct preflight *preflight, uint32_t source)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const bool skips = preflight->config->fetch.bad_record == BAD_RECORD_SKIP;
	bool validates = false, fit = false;
	struct error err = { 0 };

	if (preflight_store_open(preflight, &preflight->config->source[source].store, &store, &err) < 0) {
		preflight_add_error(preflight, PART, &err);
		return true;
	}
	if (!check_commit(preflight, &preflight->config->source[source].store))
		return true;
	if (!check_splits(preflight, store, source, &validates, &fit))
		return true;
	check_whole(preflight, store);
	preflight_dataset(preflight, store, !fit && !skips);
	return validates;
}

/* A callback that monitors the validation needs a shard that validates. */
static void check_monitor(struct preflight *preflight, bool validates)
{
	const char *monitor = config_validation_monitor(preflight->config);

	if (monitor && !validates && !preflight->brief)
		preflight_add(preflight, "validation", PREFLIGHT_FAILED,
			      "monitor \"loss\" or \"accuracy\", or make more shards",
			      "%s: found a metric of the validation, which has no shard", monitor);
}

/* The rule that holds shards out: only the hash leaves a shard on its side when others arrive. */
static void check_rule(struct preflight *preflight)
{
	const struct config *config = preflight->config;

	if (config->split.by == SPLIT_BY_SHARD && config->split.validation_percent > 0 &&
	    config->run.start_from == START_LATEST)
		preflight_add(preflight, "split", PREFLIGHT_WARNING, "set split.by = \"hash\"",
			      "split.by is \"shard\": a new shard moves others between training and "
			      "validation, and "
			      "run.start_from = \"latest\" then validates on records that were trained on");
}

void preflight_sources(struct preflight *preflight)
{
	bool validates = false;

	for (uint32_t i = 0; i < preflight->config->sources; i++)
		validates = check_source(preflight, i) || validates;
	check_monitor(preflight, validates);
	check_rule(preflight);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/cursor.h"
#include "core/run/manifest.h"
#include "preflight/dataset.h"
#include "preflight/first.h"
#include "preflight/preflight.h"
#include "preflight/stores.h"

#include <inttypes.h>
#include <string.h>

#define PART              "source"
#define TEST_GLOB_DEFAULT "test-*" /* the default of split.test_glob, which may match nothing */

/* The shards of one split. */
struct listing {
	uint64_t shards, bytes, most;
	struct store_object first;
};

static int count(void *context, const struct store_object *object)
{
	struct listing *listing = context;

	if (listing->shards == 0)
		listing->first = *object;
	listing->shards++;
	listing->bytes += object->pin.bytes;
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
	static const char *const keys[] = { "train_glob", "validation_glob", "test_glob" };

	if (split != SPLIT_TEST || strcmp(glob, TEST_GLOB_DEFAULT) != 0)
		preflight_add(preflight, PART, PREFLIGHT_FAILED,
			      "write the shards there, or correct the url or the pattern",
			      "%s: no object matches split.%s \"%s\"", url, keys[split], glob);
}

/* Adds what only the training split can lack: a shard for each lane, and one to validate with. */
static void check_train(struct preflight *preflight, const char *url, const struct listing *listing)
{
	const struct config *config = preflight->config;
	const bool held_out = config->split.by != SPLIT_BY_PREFIX && config->split.validation_percent > 0;

	if (preflight->brief)
		return;
	if (listing->shards < config->order.lanes)
		preflight_add(preflight, PART, PREFLIGHT_FAILED, "lower order.lanes, or make more shards",
			      "%s: found %" PRIu64 " training shards, order.lanes is %" PRIu64, url,
			      listing->shards, config->order.lanes);
	if (held_out && listing->shards == 1)
		preflight_add(preflight, "validation", PREFLIGHT_WARNING,
			      "make more shards (kiln prep --records-per-shard), or set "
			      "split.validation_percent = 0",
			      "%s: found 1 training shard, so none is held out: there is no validation", url);
}

/* Lists a split and looks into its first shard. Returns false where the store fails. */
static bool check_split(struct preflight *preflight, struct store *store, uint32_t source, enum split split)
{
	const char *glob = glob_of(preflight->config, source, split), *url = store_url(store);
	struct listing listing = { .most = preflight->brief ? 1 : PREFLIGHT_LISTED_MAX };
	struct error err = { 0 };

	if (!*glob)
		return true;
	if (store_list(store, glob, count, &listing, &err) < 0) {
		preflight_add_error(preflight, PART, &err);
		return false;
	}
	if (listing.shards == 0) {
		say_none(preflight, url, split, glob);
		return true;
	}
	if (!preflight->brief)
		preflight_add(preflight, PART, PREFLIGHT_OK, "",
			      "%s: %s: %" PRIu64 "%s shards, %" PRIu64 " bytes", url, split_name(split),
			      listing.shards, listing.shards == listing.most ? " or more" : "",
			      listing.bytes);
	if (split == SPLIT_TRAIN)
		check_train(preflight, url, &listing);
	preflight_first(preflight, store, &listing.first);
	return true;
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

static void check_source(struct preflight *preflight, uint32_t source)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct error err = { 0 };

	if (preflight_store_open(preflight->config, &preflight->config->source[source].store, &store, &err) <
	    0) {
		preflight_add_error(preflight, PART, &err);
		return;
	}
	for (int split = 0; split < SPLIT_MAX; split++)
		if (!check_split(preflight, store, source, (enum split)split))
			return;
	check_whole(preflight, store);
	preflight_dataset(preflight, store);
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
	for (uint32_t i = 0; i < preflight->config->sources; i++)
		check_source(preflight, i);
	check_rule(preflight);
}
